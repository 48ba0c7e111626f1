//! Tests of upgrades that need a second operator, and of who that may be.

use super::*;
use switchyard_core::limits::GATEWAY_VERSIONS;

const NOW: Timestamp = Timestamp::from_seconds(1);
const ENGINE: ChangeAuthor<'_> = ChangeAuthor::new("engine");

fn by(origin: &str) -> ChangeAuthor<'_> {
    ChangeAuthor {
        who: origin,
        why: None,
        origin: Some(origin),
    }
}

/// A version whose hash is `letter` repeated.
fn version(letter: char, hosts: &[&str], source: Source) -> StoredVersion {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    StoredVersion {
        sha256: String::from(letter).repeat(64),
        version: format!("1.0.{letter}"),
        title: "A".to_owned(),
        bytes: 1,
        hosts: Hosts {
            sandbox: Vec::new(),
            live: hosts,
        },
        consented_by: "ada".to_owned(),
        consented_at: NOW,
        consent: "asked".to_owned(),
        source,
        approved_by: None,
        quarantine: None,
        deaths: Vec::new(),
    }
}

fn serving(versions: &[StoredVersion]) -> Record {
    let mut record = Record::new("a");
    for version in versions {
        record.activate(version.clone(), &ENGINE, NOW);
    }
    record
}

fn widens(
    record: &Record,
    next: &StoredVersion,
    step: Step,
) -> Option<(Vec<String>, Option<Source>)> {
    let widens = widening(record, next, step)?;
    Some((widens.hosts.live, widens.source))
}

fn owned(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| (*host).to_owned()).collect()
}

/// Hosts and source of an upgrade, with the expected widening: hosts, and whether by the source.
type Row<'t> = (&'t [&'t str], Source, Source, Option<(&'t [&'t str], bool)>);

#[test]
fn an_upgrade_with_other_hosts_or_from_another_source_needs_an_approval() {
    use Source::{Folder, Listed, Upload};
    let used = &["api.acme.example", "*.eu.acme.example"];
    let table: [Row<'_>; 10] = [
        (&["api.acme.example"], Folder, Folder, None),
        (&["pay.eu.acme.example"], Folder, Folder, None),
        (&["*.eu.acme.example"], Folder, Folder, None),
        (
            &["*.acme.example"],
            Folder,
            Folder,
            Some((&["*.acme.example"], false)),
        ),
        (
            &["evil.example"],
            Folder,
            Folder,
            Some((&["evil.example"], false)),
        ),
        (
            &["{config.url}"],
            Folder,
            Folder,
            Some((&["{config.url}"], false)),
        ),
        (&["api.acme.example"], Listed, Upload, Some((&[], true))),
        (&["api.acme.example"], Upload, Folder, Some((&[], true))),
        // Only a token vouches for an upload, also after another upload.
        (&["api.acme.example"], Upload, Upload, Some((&[], true))),
        (&["evil.example"], Upload, Listed, None),
    ];
    for (hosts, from, to, expected) in table {
        let record = serving(&[version('1', used, from)]);
        let found = widens(&record, &version('2', hosts, to), Step::Forward);
        let expected = expected.map(|(hosts, other)| (owned(hosts), other.then_some(from)));
        assert_eq!(found, expected, "{hosts:?} {from:?} {to:?}");
    }
}

#[test]
fn the_first_version_and_those_of_development_mode_need_none() {
    let first = version('1', &["api.acme.example"], Source::Upload);
    assert_eq!(widens(&Record::new("a"), &first, Step::Forward), None);
    let mut next = version('2', &["evil.example"], Source::Upload);
    next.consent = "development".to_owned();
    assert_eq!(widens(&serving(&[first]), &next, Step::Forward), None);
}

#[test]
fn a_removed_gateway_is_measured_by_its_last_version() {
    let mut record = serving(&[version('1', &["api.acme.example"], Source::Folder)]);
    record.remove(&ENGINE, NOW).unwrap();
    let next = version('2', &["evil.example"], Source::Folder);
    assert!(widening(&record, &next, Step::Forward).is_some());
}

#[test]
fn the_same_file_with_more_hosts_than_were_granted_needs_an_approval() {
    let record = serving(&[version('1', &["api.acme.example"], Source::Upload)]);
    let same = version('1', &["api.acme.example"], Source::Upload);
    assert_eq!(widens(&record, &same, Step::Forward), None);
    let wider = version('1', &["api.acme.example", "evil.example"], Source::Upload);
    let found = widens(&record, &wider, Step::Forward);
    assert_eq!(found, Some((owned(&["evil.example"]), None)));
}

#[test]
fn a_wide_version_from_before_the_connections_is_no_way_back_for_one_operator() {
    let planted = version('0', &["api.acme.example", "evil.example"], Source::Upload);
    let real = version('1', &["api.acme.example"], Source::Listed);
    let mut record = serving(&[planted.clone(), real]);
    for to in [None, Some("0000")] {
        let refused = record.roll_back(to, &by("ada"), NOW).unwrap_err();
        assert!(
            matches!(refused, LifeError::WiderThanCurrent { .. }),
            "{refused}"
        );
    }
    record.remove(&ENGINE, NOW).unwrap();
    let refused = record.restore(Some("0000"), &by("ada"), NOW).unwrap_err();
    assert!(
        matches!(refused, LifeError::WiderThanCurrent { .. }),
        "{refused}"
    );
    assert_eq!(record.current, None);
    assert!(record.restore(None, &by("ada"), NOW).is_ok());
}

#[test]
fn an_approval_covers_the_code_of_a_version_and_not_hosts_that_were_taken_away_since() {
    let approved = |letter, hosts: &[&str]| StoredVersion {
        approved_by: Some("bo".to_owned()),
        ..version(letter, hosts, Source::Upload)
    };
    let narrow = approved('2', &["api.acme.example"]);
    let wide = approved('1', &["api.acme.example", "old.acme.example"]);
    let listed = version('3', &["api.acme.example"], Source::Listed);
    let mut record = serving(&[wide.clone(), narrow.clone(), listed.clone()]);
    assert!(record.roll_back(Some("1111"), &by("ada"), NOW).is_err());
    assert!(record.roll_back(Some("2222"), &by("ada"), NOW).is_ok());
    // Adding its file again takes nothing away from the approval.
    let again = StoredVersion {
        approved_by: None,
        ..narrow.clone()
    };
    let mut record = serving(&[narrow, again, listed]);
    assert!(record.roll_back(Some("2222"), &by("ada"), NOW).is_ok());
}

#[test]
fn the_version_before_is_a_way_back_for_one_operator() {
    let first = version('1', &["api.acme.example"], Source::Upload);
    let next = version('2', &["api.acme.example"], Source::Upload);
    let mut record = serving(&[first, next]);
    assert!(record.roll_back(None, &by("ada"), NOW).is_ok());
}

fn awaiting(origins: &[&str]) -> Awaiting {
    Awaiting {
        version: version('2', &["evil.example"], Source::Upload),
        widens: Widening {
            hosts: Hosts::default(),
            source: None,
        },
        origins: owned(origins),
    }
}

#[test]
fn a_version_that_waits_is_measured_by_the_one_that_is_in_use_now() {
    let hosts = |live: &[&str]| Hosts {
        sandbox: Vec::new(),
        live: owned(live),
    };
    let widening = |live: &[&str], source| Widening {
        hosts: hosts(live),
        source,
    };
    let stored = widening(&["b.example"], Some(Source::Upload));
    for (now, expected) in [
        (widening(&["b.example"], Some(Source::Upload)), false),
        (widening(&[], None), false),
        (widening(&["b.example", "c.example"], None), true),
        (widening(&[], Some(Source::Folder)), true),
    ] {
        assert_eq!(is_more(&now, &stored), expected, "{now:?}");
    }
}

#[test]
fn only_a_token_of_another_origin_approves() {
    let mut record = serving(&[version('1', &["api.acme.example"], Source::Folder)]);
    record.put_aside(awaiting(&["ada"]), &by("ada"), NOW);
    // The same file by another operator: now neither can approve it.
    record.put_aside(awaiting(&["bo"]), &by("bo"), NOW);
    let hash = "2".repeat(64);
    for other in ["ada", "bo", ""] {
        let refused = record.approved(&hash, &by(other)).unwrap_err();
        assert!(
            matches!(refused, LifeError::NotIndependent { .. }),
            "{other}: {refused}"
        );
    }
    assert!(record.approved(&hash, &ENGINE).is_err());
    for wrong in ["", &hash[..12], &hash[..63], &"3".repeat(64)] {
        let refused = record.approved(wrong, &by("cy")).unwrap_err();
        assert!(
            matches!(refused, LifeError::NothingToApprove { .. }),
            "{refused}"
        );
    }
    assert!(record.awaiting.is_some());
    record.approved(&hash, &by("cy")).unwrap();
    assert!(record.awaiting.is_none());
    // The origin of the operator who added it is not known any more: it may be the one who
    // approves.
    record.put_aside(awaiting(&[""]), &by(""), NOW);
    assert!(record.approved(&hash, &by("cy")).is_err());
}

#[test]
fn a_version_that_waits_is_none_of_the_gateways_versions() {
    let mut record = serving(&[version('1', &["api.acme.example"], Source::Folder)]);
    record.put_aside(awaiting(&["ada"]), &by("ada"), NOW);
    let current = record.current.clone();
    assert!(record.roll_back(Some("2222"), &by("ada"), NOW).is_err());
    assert!(record.restore(Some("2222"), &by("ada"), NOW).is_err());
    assert_eq!(
        (record.current.clone(), record.versions.len()),
        (current, 1)
    );
    assert!(record.versions.len() < GATEWAY_VERSIONS);
    let stored = serde_json::to_vec(&record).unwrap();
    assert_eq!(serde_json::from_slice::<Record>(&stored).unwrap(), record);
}
