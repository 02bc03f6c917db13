//! Parts of one scheme under another: what is left between the two is a comparison of the rest.

use crate::resolve::Resolved;
use crate::value::{Part, SchemePart};
use toml::Value;

/// The assignments of `--set` by which another scheme has these parts of `first`, for flows inside a site and between sites.
///
/// ```
/// use farspan_scenario::{Request, same_as, value::SchemePart};
///
/// let of = |scheme: &str| Request { scheme: Some(scheme.to_owned()), ..Request::new("uno/incast-mixed") };
/// let uno = of("uno").resolve()?;
/// let set = same_as(&uno, &[SchemePart::Recovery]);
/// let dctcp = Request { set, ..of("dctcp") }.resolve()?;
/// let recovery = |run: &farspan_scenario::Resolved| run.scenario().scheme.inter.recovery.clone();
/// assert_eq!(recovery(&dctcp), recovery(&uno));
/// # Ok::<(), farspan_scenario::ScenarioError>(())
/// ```
#[must_use]
pub fn same_as(first: &Resolved, parts: &[SchemePart]) -> Vec<String> {
    let scheme = &first.scenario().scheme;
    let mut set = Vec::new();
    for (name, class) in [("intra", &scheme.intra), ("inter", &scheme.inter)] {
        for part in parts {
            let Part(table) = match part {
                SchemePart::Recovery => &class.recovery,
                SchemePart::Balance => &class.balance,
                SchemePart::Coding => &class.coding,
            };
            set.push(format!("scheme.{name}.{part}={}", Value::Table(table.clone())));
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn of(scheme: &str, set: Vec<String>) -> Resolved {
        let scheme = Some(scheme.to_owned());
        Request { scheme, set, ..Request::new("uno/incast-mixed") }.resolve().unwrap()
    }

    /// Recovery, balance and coding of both classes, as a scenario has them.
    fn parts(run: &Resolved) -> [[Part; 3]; 2] {
        let scheme = &run.scenario().scheme;
        [&scheme.intra, &scheme.inter]
            .map(|class| [class.recovery.clone(), class.balance.clone(), class.coding.clone()])
    }

    #[test]
    fn each_part_is_taken_over_and_no_other() {
        let (uno, gemini) = (of("uno", Vec::new()), of("gemini", Vec::new()));
        let (first, own) = (parts(&uno), parts(&gemini));
        let all = [SchemePart::Recovery, SchemePart::Balance, SchemePart::Coding];
        for (i, part) in all.into_iter().enumerate() {
            let taken = of("gemini", same_as(&uno, &[part]));
            for class in 0..2 {
                let here = &parts(&taken)[class];
                for other in 0..3 {
                    let expected = if other == i { &first } else { &own };
                    assert_eq!(here[other], expected[class][other], "{part} of class {class}");
                }
            }
            assert_eq!(taken.scheme(), "gemini");
            assert_eq!(taken.scenario().scheme.inter.congestion, gemini.scenario().scheme.inter.congestion);
        }
        assert_ne!(first, own, "nothing would show");
        assert_eq!(parts(&of("gemini", same_as(&uno, &all))), first);
    }

    #[test]
    fn every_built_in_scheme_can_be_given_the_parts_of_uno() {
        let uno = of("uno", Vec::new());
        for scheme in crate::available_schemes() {
            let set = same_as(&uno, &[SchemePart::Recovery, SchemePart::Balance, SchemePart::Coding]);
            assert_eq!(parts(&of(&scheme, set)), parts(&uno), "{scheme}");
        }
    }

    #[test]
    fn an_unknown_part_names_the_nearest() {
        let error = "recover".parse::<SchemePart>().unwrap_err().to_string();
        assert!(error.contains("did you mean \"recovery\"?"), "{error}");
    }
}
