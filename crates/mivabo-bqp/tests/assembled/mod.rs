//! A problem from its parts, for the property tests.

use mivabo_bqp::{Bqp, Quadratic, Row, Table};

/// The problem that these parts make.
pub fn assembled(n: usize, objective: Quadratic, rows: Vec<Row>, tables: Vec<Table>) -> Bqp {
    let mut problem = Bqp::new(n);
    problem
        .set_objective(objective)
        .expect("finite coefficients");
    for row in rows {
        problem.add_row(row).expect("bits of the problem");
    }
    for table in tables {
        problem.add_table(table).expect("bits of the problem");
    }
    problem
}
