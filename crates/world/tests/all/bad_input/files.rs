//! Files that a scenario names.

use super::*;

#[test]
fn wrong_files_are_refused() {
    let folder = Folder::new("files");
    let list = "[topology]\nk = 4\n[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n";
    let header = "src,dst,size_bytes,start_ns\n";
    let scenario = folder.write("flows.toml", list);
    let cases: &[(&str, &[&str])] = &[
        ("0,1,100\n", &["list.csv:2", "fields"]),
        ("0,0,100,0\n", &["list.csv:2", "itself"]),
        ("0,99,100,0\n", &["list.csv:2", "does not exist"]),
        ("0,1,0,0\n", &["list.csv:2", "size_bytes"]),
        ("0,1,ten,0\n", &["list.csv:2", "size_bytes"]),
        ("", &["no flows"]),
    ];
    let dependent: &[(&str, &[&str])] = &[
        ("0,1,1,0,,,,\n0,1,1,0,2,,,\n", &["list.csv:3", "after names row 2", "0 to 1"]),
        ("0,1,1,0,,0,,\n", &["list.csv:2", "after_delivered names row 0"]),
        ("0,1,1,0,x,,,\n", &["list.csv:2", "after is \"x\"", "row numbers"]),
        (
            "0,1,1,0,,,,\n0,1,1,0,2,,,\n0,1,1,0,0 1,,,\n",
            &["list.csv:3", "rows 1, 2 wait for each other", "remove one of these"],
        ),
        ("0,1,1,0,,,,\n0,1,1,0,,,b,\n", &["list.csv:3", "never start", "number 1 of its barrier"]),
        (
            "0,1,1,0,,,,\n0,1,1,0,0,,,q\n0,1,1,0,,,,q\n",
            &["list.csv:4", "number 2 of its queue", "remove the row"],
        ),
        ("0,1,1,0,,,,\n0,1,1,0,0,,b,q\n", &["list.csv:3", "a barrier and a queue", "give one"]),
    ];
    let missing = message(&Request::new(&scenario));
    assert!(missing.starts_with(&format!("{scenario}:5:8: workload[0].file: ")), "{missing}");
    for (rows, words) in cases {
        folder.write("list.csv", &format!("{header}{rows}"));
        let message = message(&Request::new(&scenario));
        for word in *words {
            assert!(message.contains(word), "{rows:?}\n  gave {message}\n  expected {word}");
        }
    }
    for (rows, words) in dependent {
        let header = "src,dst,size_bytes,start_ns,after,after_delivered,barrier,queue\n";
        folder.write("list.csv", &format!("{header}{rows}"));
        let message = message(&Request::new(&scenario));
        assert!(message.starts_with(&format!("{scenario}:5:8: workload[0].file: ")), "{message}");
        for word in *words {
            assert!(message.contains(word), "{rows:?}\n  gave {message}\n  expected {word}");
        }
    }
    folder.write("list.csv", &format!("{header}0,1,1,0\n"));
    for (value, words) in [("20s", ["out of range", "to 10s"]), ("soon", ["trigger_delay", "\"lookahead\""])]
    {
        let set = vec![format!("workload.trigger_delay={value}")];
        let message = message(&Request { set, ..Request::new(&scenario) });
        assert!(message.starts_with(&format!("--set workload.trigger_delay={value}: workload")), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    let sizes =
        "[topology]\nk = 4\n[[workload]]\nkind = 'poisson'\nload = 0.4\nflows = 3\nsizes = 'sizes.csv'\n";
    let scenario = folder.write("sizes.toml", sizes);
    folder.write("sizes.csv", "size_bytes,cdf\n100,0.2\n200,0.9\n");
    let message = message(&Request::new(&scenario));
    assert!(message.contains("the cdf ends at 0.9"), "{message}");
    assert!(message.starts_with(&format!("{scenario}:7:9: workload[0].sizes: ")), "{message}");
}

#[test]
fn a_written_scenario_refuses_a_file_that_has_changed() {
    let folder = Folder::new("changed");
    let topology = "[topology]\nkind = 'from_file'\nfile = 'net.toml'\n";
    let poisson = "[[workload]]\nkind = 'poisson'\nload = 0.4\nflows = 3\nsizes = { intra = 'a.csv', inter = 'b.csv' }\n";
    let list = "[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n";
    let texts = [
        ("net.toml", farspan_scenario::TOPOLOGY_STARTER),
        ("a.csv", "size_bytes,cdf\n100,1.0\n"),
        ("b.csv", "size_bytes,cdf\n200,1.0\n"),
        ("list.csv", "src,dst,size_bytes,start_ns\n0,1,100,0\n"),
    ];
    texts.iter().for_each(|(name, text)| _ = folder.write(name, text));
    let resolve = |file: &str, set: &[&str]| {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        Request { set, ..Request::new(file) }.resolve()
    };
    let first = resolve(&folder.write("first.toml", &[topology, poisson, list].concat()), &[]).unwrap();
    assert_eq!(first.scenario().files.len(), 4);
    let written = folder.write("written.toml", &first.to_toml());
    assert_eq!(resolve(&written, &[]).unwrap().to_toml(), first.to_toml());
    for (name, text) in texts {
        let path = folder.write(name, &format!("{text}\n"));
        let message = message(&Request::new(&written));
        assert!(message.starts_with(&written) && message.contains(&format!("files.{path}: ")), "{message}");
        assert!(
            message.contains("the file has changed") && message.contains("remove this line"),
            "{message}"
        );
        let now = resolve(&written, &["files={}"]).unwrap();
        let differ = |path: &&String| now.scenario().files[*path] != first.scenario().files[*path];
        assert_eq!(first.scenario().files.keys().filter(differ).collect::<Vec<_>>(), [&path]);
        folder.write(name, text);
    }
    // Files that are no longer read are not compared, and a warning says so.
    let net = folder.write("net.toml", "");
    let now = resolve(&written, &["topology.file=three-sites"]).unwrap();
    assert_eq!(now.scenario().files.len(), 3);
    let warnings = World::build(&now).unwrap().warnings;
    assert!(
        warnings.iter().any(|said| said.starts_with(&format!("files: {net} is no longer read"))),
        "{warnings:?}"
    );
}

#[test]
fn a_digest_of_a_file_that_nothing_reads_is_refused() {
    let folder = Folder::new("unread");
    let list = folder.write("list.csv", "src,dst,size_bytes,start_ns\n0,1,100,0\n");
    let text = "[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n[files]\n";
    for (head, name) in [("", "list.csv"), ("", "other.csv"), ("base = 'uno/permutation'\n", "list.csv")] {
        let file = folder.write("unread.toml", &format!("{head}{text}\"{name}\" = '0123456789abcdef'\n"));
        let message = message(&Request::new(&file));
        let line = if head.is_empty() { 5 } else { 6 };
        assert!(message.starts_with(&format!("{file}:{line}:")), "{message}");
        let cure =
            format!("nothing reads this file; remove this line; the scenario reads {list}, by these names");
        assert!(message.ends_with(&cure), "{message}");
    }
    let file = folder.write("none.toml", "base = 'uno/permutation'\n[files]\nx = 'y'\n");
    let message = message(&Request::new(&file));
    assert!(
        message.ends_with("nothing reads this file; remove this line; the scenario reads no file"),
        "{message}"
    );
}
