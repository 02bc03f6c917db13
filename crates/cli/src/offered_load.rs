//! The offered load of each tier, as people read it.

use farspan_terminal::format::percent;

/// The load that the flows of a run offer; `None` of a load: all at one instant.
pub struct Offered<'a> {
    /// To the hosts' links.
    pub host: Option<f64>,
    /// To the links inside sites.
    pub fabric: Option<f64>,
    /// To the links from site to site, by their numbers.
    pub wan: &'a [([usize; 2], Option<f64>)],
    /// The names of the sites.
    pub sites: &'a [String],
    /// Whether parity is in it.
    pub has_parity: bool,
}

impl Offered<'_> {
    /// All loads in a line; where some sites send to each other, those that do not are left out.
    pub fn line(&self) -> String {
        let carries = |load: &Option<f64>| load.is_some_and(|load| load > 0.0);
        let some_carry = self.wan.iter().any(|(_, load)| carries(load));
        let shown = |(_, load): &&([usize; 2], Option<f64>)| !some_carry || carries(load);
        let way = |([from, to], load): &([usize; 2], Option<f64>)| {
            (format!("wan {} to {}", self.site(*from), self.site(*to)), *load)
        };
        let tiers = [("host".to_owned(), self.host), ("fabric".to_owned(), self.fabric)];
        let known = tiers
            .into_iter()
            .chain(self.wan.iter().filter(shown).map(way))
            .filter(|(_, load)| load.is_some());
        let mut words: Vec<_> = known.map(|(name, load)| format!("{name} {}", percent(load))).collect();
        if words.is_empty() {
            return "a burst at one instant".to_owned();
        }
        if self.wan.iter().filter(shown).count() < self.wan.len() {
            words.push("others 0%".to_owned());
        }
        words.join(", ") + if self.has_parity { " (parity included)" } else { "" }
    }

    /// A name, or the number of a site that has none of its own.
    fn site(&self, number: usize) -> String {
        let name = self.sites.get(number).map(|name| name.strip_prefix("site ").unwrap_or(name));
        name.map_or_else(|| number.to_string(), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [([usize; 2], Option<f64>); 2] = [([0, 1], Some(0.5)), ([1, 0], Some(0.0))];

    fn line(wan: &[([usize; 2], Option<f64>)], sites: [&str; 2], has_parity: bool) -> String {
        let sites = sites.map(str::to_owned);
        Offered { host: Some(0.25), fabric: None, wan, sites: &sites, has_parity }.line()
    }

    #[test]
    fn sites_have_their_names_and_idle_ways_are_left_out() {
        assert_eq!(
            line(&TWO, ["west", "east"], true),
            "host 25.0%, wan west to east 50.0%, others 0% (parity included)"
        );
        assert_eq!(line(&TWO, ["site 0", "site 1"], false), "host 25.0%, wan 0 to 1 50.0%, others 0%");
    }

    #[test]
    fn where_no_site_sends_to_another_none_is_left_out() {
        let idle = TWO.map(|(ends, _)| (ends, Some(0.0)));
        assert_eq!(line(&idle, ["a", "b"], false), "host 25.0%, wan a to b 0%, wan b to a 0%");
        assert_eq!(line(&[], ["a", "b"], false), "host 25.0%");
    }

    #[test]
    fn a_burst_has_no_load() {
        let burst =
            Offered { host: None, fabric: None, wan: &[([0, 1], None)], sites: &[], has_parity: true };
        assert_eq!(burst.line(), "a burst at one instant");
    }
}
