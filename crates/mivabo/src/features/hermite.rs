//! Gauss-Hermite quadrature: nodes and weights for ∫ e^(-t²) g(t) dt.

use std::f64::consts::PI;

/// Nodes by rising t and their weights; exact for polynomials up to degree 2n - 1. The nodes are symmetric.
///
/// Roots of the orthonormal Hermite polynomial by bisection between the roots of the one before it (they
/// interlace), which cannot miss a root as Newton steps from asymptotic guesses can; O(n³) in all.
pub(crate) fn gauss_hermite(n: usize) -> Vec<(f64, f64)> {
    let mut roots: Vec<f64> = Vec::new();
    for degree in 1..=n {
        roots = next_roots(degree, roots);
    }
    // The rule is symmetric; rounding is made symmetric too.
    let node = |i: usize| 0.5 * (roots[i] - roots[n - 1 - i]);
    (0..n).map(|i| (node(i), weight(n, node(i)))).collect()
}

/// The roots of h_n between those of h_(n-1).
fn next_roots(n: usize, roots: Vec<f64>) -> Vec<f64> {
    // All roots lie within ±√(2n + 1).
    let limit = (2.0 * n as f64 + 1.0).sqrt();
    let edges: Vec<f64> = std::iter::once(-limit)
        .chain(roots)
        .chain([limit])
        .collect();
    edges
        .windows(2)
        .map(|pair| root(n, pair[0], pair[1]))
        .collect()
}

/// 1 / (n h_(n-1)(t)²) at a root t of h_n
fn weight(n: usize, t: f64) -> f64 {
    let previous = hermite(n, t).1;
    1.0 / (n as f64 * previous * previous)
}

/// h_n(t) and h_(n-1)(t), orthonormal under e^(-t²).
///
/// ```text
/// h₀ = π^-¼,   h_(k+1) = t √(2/(k+1)) h_k - √(k/(k+1)) h_(k-1)
/// ```
fn hermite(n: usize, t: f64) -> (f64, f64) {
    let (mut h, mut previous) = (PI.powf(-0.25), 0.0);
    for k in 0..n {
        let k = k as f64;
        (h, previous) = (
            t * (2.0 / (k + 1.0)).sqrt() * h - (k / (k + 1.0)).sqrt() * previous,
            h,
        );
    }
    (h, previous)
}

/// The root of h_n between two points where its signs differ.
fn root(n: usize, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let sign = hermite(n, low).0.is_sign_positive();
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            // No number lies between the two.
            return middle;
        }
        if hermite(n, middle).0.is_sign_positive() == sign {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_normal_distribution_are_exact() {
        for n in [1, 2, 5, 16, 64, 128] {
            let rule = gauss_hermite(n);

            for power in [0, 2, 4, 6].into_iter().filter(|p| *p < 2 * n) {
                let moment: f64 = rule
                    .iter()
                    .map(|(t, w)| w * t.powi(i32::try_from(power).unwrap()))
                    .sum();
                // ∫ e^(-t²) t^p dt = √π (p-1)!! / 2^(p/2)
                let exact = PI.sqrt() * [1.0, 0.5, 0.75, 1.875][power / 2];
                assert!(
                    (moment - exact).abs() < 1e-12 * exact,
                    "{n} nodes, power {power}: {moment}"
                );
            }
        }
    }

    #[test]
    fn three_nodes_are_those_of_the_tables() {
        let rule = gauss_hermite(3);

        let expected = [
            (-1.5_f64.sqrt(), PI.sqrt() / 6.0),
            (0.0, PI.sqrt() / 1.5),
            (1.5_f64.sqrt(), PI.sqrt() / 6.0),
        ];
        for ((t, w), (t0, w0)) in rule.into_iter().zip(expected) {
            assert!((t - t0).abs() < 1e-14 && (w - w0).abs() < 1e-14, "{t} {w}");
        }
    }
}
