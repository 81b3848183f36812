//! Finds the name that was probably meant by a misspelt one.

/// The known name that is most like `name`, if any is close.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = match name.chars().count() {
        0..3 => 0,
        length => length / 3,
    };
    known
        .map(|k| (distance(name, k), k))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, k)| k.to_owned())
}

/// Edit distance (insert, delete, replace, swap of neighbours), case ignored.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (folded(a), folded(b));
    // rows[i][j] is the distance between the first i letters of `a` and the first j of `b`.
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let delete = rows[i - 1][j] + 1;
            let insert = row[j - 1] + 1;
            let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            let swap = is_swap.then(|| rows[i - 2][j - 2] + 1);
            let best = replace.min(delete).min(insert);
            row.push(swap.map_or(best, |swap| swap.min(best)));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// In small letters, and cut: the distance of long names would take quadratic time.
fn folded(name: &str) -> Vec<char> {
    name.to_lowercase().chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_allows_a_swap_of_letters() {
        let known = ["kernel", "stride", "lr"];
        assert_eq!(nearest("kernle", known.into_iter()), Some("kernel".into()));
        assert_eq!(nearest("momentum", known.into_iter()), None);
    }
}
