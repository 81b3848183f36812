"""Binary quadratic programs as mixed-integer linear ones: what HiGHS needs, and what SCIP may be given.

An `Instance` enters, a `Mip` in one normal form (columns, and rows lower <= a·x <= upper) leaves; each solver
then writes one conversion. Columns 0..n-1 are always the instance's bits.
"""

from dataclasses import dataclass, field

import highspy
import numpy as np

INFINITY = float("inf")


@dataclass
class Mip:
    """minimise cost·x under lower <= x <= upper, rows, and integrality of the first `n_bits` columns."""

    n_bits: int
    cost: list = field(default_factory=list)
    lower: list = field(default_factory=list)
    upper: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def column(self, cost, lower, upper):
        """Adds a column and returns its index."""
        self.cost.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.cost) - 1

    def row(self, terms, lower=-INFINITY, upper=INFINITY):
        """Adds lower <= Σ coefficient · x[index] <= upper, `terms` being (index, coefficient) pairs."""
        self.rows.append((lower, upper, [i for i, _ in terms], [c for _, c in terms]))

    @property
    def n_columns(self):
        return len(self.cost)


def constraints(instance):
    """Bits with their linear cost, rows, groups and tables: all but the quadratic part of the objective."""
    mip = Mip(instance.n)
    for cost in instance.linear:
        mip.column(cost, 0.0, 1.0)
    for row in instance.rows:
        lower = row["rhs"] if row["sense"] == "==" else -INFINITY
        mip.row(list(zip(row["idx"], row["coef"], strict=True)), lower, row["rhs"])
    for group in _groups_not_in_rows(instance):
        mip.row([(bit, 1.0) for bit in group], 1.0, 1.0)
    for table in instance.tables:
        _add_table(mip, table)
    return mip


def _groups_not_in_rows(instance):
    """Instances may state each group a second time as a row; a repeated row would only slow a solver."""
    stated = {
        frozenset(row["idx"])
        for row in instance.rows
        if row["sense"] == "==" and row["rhs"] == 1.0 and set(row["coef"]) == {1.0}
    }
    return [group for group in instance.groups if frozenset(group) not in stated]


def _add_table(mip, table):
    """Σ_p λ_p = 1 and x_bit = Σ_{p has bit} λ_p over the allowed patterns p.

    The λ stay continuous: a 0/1 point is an extreme point of the cube, so the only convex combination of
    patterns that gives it is the pattern itself. This is the convex hull of the table.
    """
    weights = [(pattern, mip.column(0.0, 0.0, 1.0)) for pattern in table["allowed"]]
    mip.row([(column, 1.0) for _, column in weights], 1.0, 1.0)
    for place, bit in enumerate(table["bits"]):
        having = [(column, 1.0) for pattern, column in weights if pattern >> place & 1]
        mip.row([*having, (bit, -1.0)], 0.0, 0.0)


def possible_products(instance):
    """The quadratic terms that can be non-zero: two bits of one one-hot group never meet."""
    group_of = {bit: number for number, group in enumerate(instance.groups) for bit in group}
    return [
        (i, j, q)
        for i, j, q in instance.quadratic
        if q != 0.0 and (i not in group_of or group_of[i] != group_of.get(j))
    ]


def fortet(instance):
    """One column z_ij = x_i x_j per product, with only the sides that minimisation leans on.

    q_ij > 0:  z_ij >= x_i + x_j - 1,  z_ij >= 0
    q_ij < 0:  z_ij <= x_i,  z_ij <= x_j
    """
    mip = constraints(instance)
    for i, j, q in possible_products(instance):
        z = mip.column(q, 0.0, 1.0)
        if q > 0.0:
            mip.row([(z, 1.0), (i, -1.0), (j, -1.0)], lower=-1.0)
        else:
            mip.row([(z, 1.0), (i, -1.0)], upper=0.0)
            mip.row([(z, 1.0), (j, -1.0)], upper=0.0)
    return mip


def glover(instance):
    """One column w_i = x_i g_i(x) per bit, where g_i(x) = Σ_{j > i} q_ij x_j.

    w_i >= L_i x_i                  L_i = min g_i where x_i = 1
    w_i >= g_i(x) - U_i (1 - x_i)   U_i = max g_i where x_i = 0

    L_i and U_i are linear-programming bounds over rows, groups and tables with the bit fixed, so cardinality,
    knapsacks and groups tighten them. They are computed before the clock starts. Halving each q_ij between both of
    its bits instead was tried: HiGHS then takes 1.5 to 6 times as long at n = 24 (one `card2` instance excepted).
    """
    mip = constraints(instance)
    relaxation = _Relaxation(mip)
    terms_of = {i: [] for i in range(instance.n)}
    for i, j, q in possible_products(instance):
        terms_of[min(i, j)].append((max(i, j), q))
    for i, terms in terms_of.items():
        if not terms:
            continue
        low = relaxation.minimum(terms, fixed=(i, 1.0))
        high = -relaxation.minimum([(j, -q) for j, q in terms], fixed=(i, 0.0))
        w = mip.column(1.0, min(0.0, low), INFINITY)
        mip.row([(w, 1.0), (i, -low)], lower=0.0)
        mip.row([(w, 1.0), (i, -high)] + [(j, -q) for j, q in terms], lower=-high)
    return mip


class _Relaxation:
    """The continuous relaxation of the constraints, asked for the range of one linear form after another."""

    def __init__(self, mip):
        self._n = mip.n_columns
        self._highs = quiet_highs()
        self._highs.passModel(highs_model(mip, integer=False))

    def minimum(self, terms, fixed):
        """min Σ coefficient · x[index] with one bit fixed; 0 where that value of the bit is infeasible."""
        bit, value = fixed
        cost = np.zeros(self._n)
        for j, q in terms:
            cost[j] += q
        self._highs.changeColsCost(self._n, np.arange(self._n, dtype=np.int32), cost)
        self._highs.changeColBounds(bit, value, value)
        self._highs.run()
        status, least = self._highs.getModelStatus(), self._highs.getInfo().objective_function_value
        self._highs.changeColBounds(bit, 0.0, 1.0)
        if status == highspy.HighsModelStatus.kInfeasible:
            return 0.0
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"no bound on the row of bit {bit}: {status}")
        return least


def quiet_highs():
    """A HiGHS that prints nothing and uses one thread."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("parallel", "off")
    return highs


def highs_model(mip, integer=True):
    """`mip` in the row-wise sparse form HiGHS takes."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = mip.n_columns, len(mip.rows)
    lp.col_cost_ = np.array(mip.cost)
    lp.col_lower_, lp.col_upper_ = np.array(mip.lower), np.array(mip.upper)
    lp.row_lower_ = np.array([row[0] for row in mip.rows])
    lp.row_upper_ = np.array([row[1] for row in mip.rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0] + [len(row[2]) for row in mip.rows])
    lp.a_matrix_.index_ = np.array([i for row in mip.rows for i in row[2]], dtype=np.int32)
    lp.a_matrix_.value_ = np.array([c for row in mip.rows for c in row[3]], dtype=float)
    if integer:
        kinds = [highspy.HighsVarType.kInteger] * mip.n_bits
        lp.integrality_ = kinds + [highspy.HighsVarType.kContinuous] * (mip.n_columns - mip.n_bits)
    return lp
