//! The figures that come with the program.

use crate::error::FigureError;
use crate::figure::Figure;
use crate::pages::template;
use crate::statement::{FILE, Paper, Statements};
use farspan_scenario::catalog::{Item, KINDS, catalog};
use farspan_scenario::unknown_name;
use std::collections::BTreeMap;

/// The kind of list that has the figures.
const FIGURES: &str = "figures";

/// The files of an experiment.
struct FigureSource {
    name: &'static str,
    claims: &'static str,
    why: &'static str,
}

/// The statements of a paper that belong to no figure.
struct PaperSource {
    name: &'static str,
    text: &'static str,
}

const EMBEDDED: &[FigureSource] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));
const PAPERS: &[PaperSource] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Why there is nothing to reproduce.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// No figure, and no paper, has this name.
    #[error("{0}; see `farspan list figures`")]
    Unknown(String),
    /// An experiment has a mistake.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// Every figure, by paper and number.
///
/// # Errors
/// If an experiment has a mistake.
pub fn figures() -> Result<Vec<Figure>, FigureError> {
    let mut sources: Vec<&FigureSource> = EMBEDDED.iter().collect();
    sources.sort_by_key(|source| natural(source.name));
    let statements: BTreeMap<&str, Statements> = PAPERS
        .iter()
        .map(|paper| Ok((paper.name, statements(paper)?)))
        .collect::<Result<_, FigureError>>()?;
    let figure = |source: &FigureSource| {
        let paper = source.name.split('/').next().unwrap_or_default();
        let statements =
            statements.get(paper).expect("the build script demands a statements.toml of each paper");
        Figure::parse_among(statements, source.name, source.claims, source.why)
    };
    let figures: Vec<Figure> = sources.into_iter().map(figure).collect::<Result<_, _>>()?;
    template::check(&figures)?;
    Ok(figures)
}

/// The papers, with what they state beside their figures.
///
/// # Errors
/// If an experiment has a mistake.
pub fn papers() -> Result<Vec<Paper>, FigureError> {
    PAPERS.iter().map(|paper| Paper::parse(paper.name, paper.text, &statements(paper)?)).collect()
}

/// Everything that a paper states, in all of its files.
fn statements(paper: &PaperSource) -> Result<Statements, FigureError> {
    let mut found = Statements::default();
    found.add(&format!("{}/{FILE}", paper.name), paper.text)?;
    let own = format!("{}/", paper.name);
    for source in EMBEDDED.iter().filter(|source| source.name.starts_with(&own)) {
        found.add(source.name, source.claims)?;
    }
    Ok(found)
}

/// The figures of a name: `PAPER/FIGURE`, or `PAPER` for all of it.
///
/// # Errors
/// If there is no such figure or paper: the message names the nearest.
pub fn select(name: &str) -> Result<Vec<Figure>, SelectionError> {
    let mut all = figures()?;
    let names: Vec<String> = all.iter().map(|figure| figure.name.clone()).collect();
    let paper = format!("{name}/");
    all.retain(|figure| figure.name == name || figure.name.starts_with(&paper));
    if all.is_empty() {
        let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
        known.extend(names.iter().filter_map(|name| name.split('/').next()));
        known.dedup();
        return Err(SelectionError::Unknown(unknown_name("figure", name, &known, &[])));
    }
    Ok(all)
}

/// Everything of a kind, as `farspan list` has it: what scenarios can name, and the figures.
///
/// # Errors
/// If there is no such kind: the message names the nearest.
pub fn items(kind: &str) -> Result<Vec<Item>, String> {
    if let Some(items) = catalog(kind) {
        return Ok(items);
    }
    if kind != FIGURES {
        return Err(unknown_name("kind of list", kind, &[KINDS, &[FIGURES]].concat(), &[]));
    }
    let item = |figure: Figure| Item {
        name: figure.name,
        summary: figure.title,
        source: figure.place,
        available: true,
    };
    Ok(figures().map_err(|error| error.to_string())?.into_iter().map(item).collect())
}

/// A key by which fig9 comes before fig10.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = vec![(String::new(), 0)];
    for c in name.chars() {
        let (text, number) = parts.last_mut().expect("there is a part");
        match c.to_digit(10) {
            Some(digit) => {
                *number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            None if *number == 0 => text.push(c),
            None => parts.push((c.to_string(), 0)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_in_the_order_of_their_numbers() {
        let mut names = [
            "uno/fig10-paper-mix",
            "uno/fig13b",
            "uno/steady",
            "uno/fig9",
            "uno/fig10",
            "uno/fig13a",
            "gemini/fig4",
        ];
        names.sort_by_key(|name| natural(name));
        assert_eq!(
            names,
            [
                "gemini/fig4",
                "uno/fig9",
                "uno/fig10",
                "uno/fig10-paper-mix",
                "uno/fig13a",
                "uno/fig13b",
                "uno/steady"
            ]
        );
    }

    #[test]
    fn every_kind_has_a_list_and_an_unknown_one_names_the_nearest() {
        for kind in KINDS.iter().chain(&[FIGURES]) {
            assert!(!items(kind).unwrap().is_empty(), "{kind}");
        }
        assert_eq!(catalog(FIGURES), None, "scenarios name no figures");
        for (wrong, nearest) in [("figure", "figures"), ("scheme", "schemes")] {
            let error = items(wrong).unwrap_err();
            assert!(error.contains(&format!("did you mean {nearest:?}?")), "{error}");
        }
    }

    #[test]
    fn a_paper_s_name_selects_its_figures_and_an_unknown_one_the_nearest() {
        assert!(select("uno").unwrap().len() > select("uno/fig10").unwrap().len());
        let error = select("uno/fig100").unwrap_err().to_string();
        assert!(error.contains("uno/fig10") && error.contains("farspan list figures"), "{error}");
    }
}
