//! Which hosts stand where, and what the network could carry.

use farspan_units::{Bytes, HostId, Rate};
use std::ops::Range;

/// Why host ranges are no sites.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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
        /// What its first host should be.
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

    /// The share of a site's traffic to other sites that goes to the largest of them, destinations being uniform over
    /// all hosts elsewhere; 1 for two sites, 0 for one.
    pub(crate) fn largest_share(&self, from: usize) -> f64 {
        let elsewhere = self.hosts() - self.size(from);
        let largest = (0..self.count()).filter(|s| *s != from).map(|s| self.size(s)).max().unwrap_or(0);
        if elsewhere == 0 { 0.0 } else { f64::from(largest) / f64::from(elsewhere) }
    }
}

/// What the network could carry: the reference of loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// One host's NIC, one direction.
    pub host: Rate,
    /// The narrowest tier between racks, one direction, all sites together: hosts x NIC / oversubscription in a fat
    /// tree. `None` where hosts share one switch (star) or there is no such tier.
    pub fabric: Option<Rate>,
    /// From one site to another, one direction, all parallel links together. `None` with a single site.
    pub wan: Option<Rate>,
    /// Hosts in a rack, racks being numbered through: traffic within a rack does not cross the fabric.
    pub hosts_per_rack: u32,
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Header of a packet.
    pub header: Bytes,
}

impl Capacity {
    /// Whether two hosts stand in different racks.
    pub(crate) fn crosses_fabric(&self, src: HostId, dst: HostId) -> bool {
        let rack = self.hosts_per_rack.max(1);
        src.0 / rack != dst.0 / rack
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
    fn the_largest_share_of_unequal_sites_is_that_of_the_largest_other_site() {
        let sites = Sites::new(vec![0..4, 4..6, 6..12]).unwrap();
        assert!((sites.largest_share(0) - 6.0 / 8.0).abs() < 1e-12);
        assert!((sites.largest_share(2) - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(Sites::new(vec![0..4; 1]).unwrap().largest_share(0), 0.0);
    }
}
