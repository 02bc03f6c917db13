//! Warnings of several runs together.

/// A warning of runs: texts that differ in numbers, or in the names of ports, alone are one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Warned {
    /// The text of the first run that warns of it.
    pub text: String,
    /// The runs that warn of it, by their places.
    pub runs: Vec<usize>,
    /// How many of these runs have other numbers in it than the first.
    pub others: usize,
}

impl Warned {
    /// The warnings of these runs, in the order in which each comes first. A run that warns of the same twice, of two ports perhaps, warns of two
    /// things.
    pub fn of<'a, W: IntoIterator<Item = &'a str>>(runs: impl IntoIterator<Item = W>) -> Vec<Self> {
        let mut said: Vec<((String, usize), Self)> = Vec::new();
        for (run, warnings) in runs.into_iter().enumerate() {
            let mut own: Vec<String> = Vec::new();
            for text in warnings {
                let form = form(text);
                let before = own.iter().filter(|known| **known == form).count();
                own.push(form.clone());
                let key = (form, before);
                match said.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, warned)) => {
                        warned.runs.push(run);
                        warned.others += usize::from(warned.text != text);
                    }
                    None => said.push((key, Self { text: text.to_owned(), runs: vec![run], others: 0 })),
                }
            }
        }
        said.into_iter().map(|(_, warned)| warned).collect()
    }

    /// The text, and how many of `of` runs warn of it, unless all do with the same numbers.
    #[must_use]
    pub fn line(&self, of: usize) -> String {
        let Self { text, runs, others } = self;
        let count = runs.len();
        match others {
            0 if count == of => text.clone(),
            0 => format!("{text} ({count} of {of} runs)"),
            others => format!("{text} ({count} of {of} runs; numbers differ in {others})"),
        }
    }
}

/// A text with its numbers, their units, and the names of ports put aside.
fn form(text: &str) -> String {
    let word = |word: &str| -> String {
        let bare = word.trim_start_matches(['(', '"', '\'']);
        if bare.contains("->") || bare.starts_with(|c: char| c.is_ascii_digit()) {
            return "0".to_owned();
        }
        let mut form = String::new();
        for c in word.chars() {
            match c.is_ascii_digit() {
                true if form.ends_with('0') => {}
                true => form.push('0'),
                false => form.push(c),
            }
        }
        form
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(runs: &[&[&str]]) -> Vec<String> {
        let all = Warned::of(runs.iter().map(|run| run.iter().copied()));
        all.iter().map(|warned| warned.line(runs.len())).collect()
    }

    #[test]
    fn warnings_that_differ_in_numbers_alone_are_one_with_the_first_one_s() {
        let window = |bytes| format!("the first window is up to {bytes} B, and the buffer holds 1048576 B");
        let [a, b] = [window(5_033_534), window(12_541_896)];
        assert_eq!(lines(&[&[&a], &[&b], &[&b]]), [format!("{a} (3 of 3 runs; numbers differ in 2)")]);
        assert_eq!(lines(&[&[&a], &[], &[&a]]), [format!("{a} (2 of 3 runs)")]);
        assert_eq!(lines(&[&[&a], &[&a]]), [a]);
    }

    #[test]
    fn units_and_ports_are_numbers_too_and_other_words_are_not() {
        let one = |a: &str, b: &str| lines(&[&[a], &[b]]).len() == 1;
        assert!(one("rto is 800us, and", "rto is 1.2ms, and"));
        assert!(one("full: (12.5 KiB)", "full: (3 KiB)"));
        assert!(one("drops at tor0->host3#0: many", "drops at west->east#1: many"));
        assert!(one("of host7", "of host12"));
        assert!(!one("intra flows", "inter flows"));
        assert!(!one("of host7", "of tor7"));
        assert!(!one("stop.time = 1s", "stop.time = 1s here"));
    }

    #[test]
    fn a_run_that_warns_twice_says_both() {
        assert_eq!(
            lines(&[&["port 1", "port 2"], &["port 2"]]),
            ["port 1 (2 of 2 runs; numbers differ in 1)", "port 2 (1 of 2 runs)"]
        );
    }

    proptest! {
        #[test]
        fn no_warning_of_a_run_is_lost(runs in prop::collection::vec(prop::collection::vec("[ab] [0-9]{1,3}", 0..4), 1..6)) {
            let all = Warned::of(runs.iter().map(|run| run.iter().map(String::as_str)));
            let told: usize = all.iter().map(|warned| warned.runs.len()).sum();
            prop_assert_eq!(told, runs.iter().map(Vec::len).sum::<usize>());
            prop_assert!(all.iter().all(|warned| warned.others < warned.runs.len()));
        }
    }
}
