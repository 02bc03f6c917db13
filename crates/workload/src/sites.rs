//! Which hosts stand where, and what the network could carry.

use farspan_units::{Bytes, HostId, Rate};
use std::ops::Range;

/// Why host ranges are no sites.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SitesError {
    /// There is no site, or a site without hosts.
    #[error("site {site} has no hosts; give every site at least one")]
    Empty {
        /// The site, from 0.
        site: usize,
    },
    /// A site does not begin where the one before ends.
    #[error(
        "site {site} begins at host {begins}, but hosts are numbered through the sites: begin it at {expected}"
    )]
    Gap {
        /// The site, from 0.
        site: usize,
        /// Its first host.
        begins: u32,
        /// The first host that it should have.
        expected: u32,
    },
}

/// The sites (datacenters), each with its range of host ids; hosts are numbered through the sites from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sites {
    ranges: Vec<Range<u32>>,
}

impl Sites {
    /// Sites from their ranges of host ids.
    ///
    /// # Errors
    /// If there is no site, a site is empty, or the ranges leave gaps or overlap.
    pub fn new(ranges: Vec<Range<u32>>) -> Result<Self, SitesError> {
        if ranges.is_empty() {
            return Err(SitesError::Empty { site: 0 });
        }
        let mut expected = 0;
        for (site, range) in ranges.iter().enumerate() {
            if range.start != expected {
                return Err(SitesError::Gap { site, begins: range.start, expected });
            }
            if range.is_empty() {
                return Err(SitesError::Empty { site });
            }
            expected = range.end;
        }
        Ok(Self { ranges })
    }

    /// How many sites there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// How many hosts there are at all sites.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.ranges.last().map_or(0, |r| r.end)
    }

    /// The hosts of a site.
    ///
    /// # Panics
    /// If there is no such site.
    #[must_use]
    pub fn range(&self, site: usize) -> Range<u32> {
        self.ranges[site].clone()
    }

    /// The site of a host; a host beyond the last counts to the last site.
    #[must_use]
    pub fn site_of(&self, host: HostId) -> usize {
        self.ranges.partition_point(|r| r.end <= host.0).min(self.ranges.len() - 1)
    }

    /// How many hosts a site has.
    pub(crate) fn size(&self, site: usize) -> u32 {
        self.ranges[site].end - self.ranges[site].start
    }

    /// The share of a site's traffic to other sites that goes to one of them, destinations being uniform over all hosts
    /// elsewhere; 1 for the other of two sites.
    fn share(&self, from: usize, to: usize) -> f64 {
        let elsewhere = self.hosts() - self.size(from);
        if from == to || elsewhere == 0 { 0.0 } else { f64::from(self.size(to)) / f64::from(elsewhere) }
    }
}

/// All links from one site straight to another.
#[derive(Clone, PartialEq, Debug)]
pub struct WanLinks {
    /// The sending site, from 0.
    pub from: usize,
    /// The receiving site, from 0.
    pub to: usize,
    /// Their capacity, one direction, all parallel links together.
    pub rate: Rate,
    /// The share of the traffic of each ordered pair of sites that crosses them, by sender x sites + receiver: 1 for the
    /// pair that they link; less or more where traffic takes several paths or crosses other sites.
    pub shares: Vec<f64>,
}

impl WanLinks {
    /// Hosts' worth of traffic between sites that cross them: destinations are uniform over all hosts elsewhere, and only
    /// hosts of the sites of `senders` send.
    pub(crate) fn hosts(&self, sites: &Sites, senders: Range<usize>) -> f64 {
        let n = sites.count();
        let pairs = senders.flat_map(|from| (0..n).map(move |to| (from, to)));
        pairs
            .map(|(from, to)| {
                f64::from(sites.size(from)) * sites.share(from, to) * self.shares[from * n + to]
            })
            .sum()
    }
}

/// The capacity of the network: the reference of loads.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// One host's NIC, one direction; the mean, if they differ.
    pub host: Rate,
    /// The narrowest tier between racks, one direction, all sites together: hosts x NIC / oversubscription in a fat
    /// tree. `None` where hosts share one switch (star) or there is no such tier.
    pub fabric: Option<Rate>,
    /// The links between sites; none with a single site.
    pub wan: Vec<WanLinks>,
    /// The rack of each host: traffic within a rack does not cross the fabric.
    pub racks: Vec<u32>,
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Header of a packet.
    pub header: Bytes,
}

impl Capacity {
    /// Whether two hosts stand in different racks.
    pub(crate) fn crosses_fabric(&self, src: HostId, dst: HostId) -> bool {
        self.racks[src.index()] != self.racks[dst.index()]
    }

    /// Whether any links lead to other sites.
    pub(crate) fn has_wan(&self) -> bool {
        self.wan.iter().any(|links| !links.rate.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_their_site() {
        let sites = Sites::new(vec![0..128, 128..256]).unwrap();
        assert_eq!((sites.count(), sites.hosts()), (2, 256));
        assert_eq!([0, 127, 128, 255].map(|h| sites.site_of(HostId(h))), [0, 0, 1, 1]);
    }

    #[test]
    fn ranges_with_gaps_overlaps_or_no_hosts_are_refused() {
        assert_eq!(Sites::new(vec![]), Err(SitesError::Empty { site: 0 }));
        assert_eq!(Sites::new(vec![0..4, 4..4]), Err(SitesError::Empty { site: 1 }));
        assert_eq!(Sites::new(vec![0..4, 5..8]), Err(SitesError::Gap { site: 1, begins: 5, expected: 4 }));
        assert_eq!(Sites::new(vec![1..4, 4..8]), Err(SitesError::Gap { site: 0, begins: 1, expected: 0 }));
    }

    #[test]
    fn links_between_sites_carry_what_their_hosts_send_over_them() {
        // A line of three sites: everything between the outer ones crosses the middle one.
        let sites = Sites::new(vec![0..4, 4..6, 6..12]).unwrap();
        let shares = vec![0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let links = WanLinks { from: 0, to: 1, rate: Rate::from_gbps(1), shares };
        assert!((links.hosts(&sites, 0..3) - 4.0).abs() < 1e-12);
        let shares = vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let links = WanLinks { from: 1, to: 2, rate: Rate::from_gbps(1), shares };
        assert!((links.hosts(&sites, 0..3) - (4.0 * 6.0 / 8.0 + 2.0 * 6.0 / 10.0)).abs() < 1e-12);
        assert!((links.hosts(&sites, 0..1) - 3.0).abs() < 1e-12);
    }
}
