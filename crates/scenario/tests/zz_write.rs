//! Scratch.
use farspan_scenario::reference::{components, constants, reference};
#[test]
fn write() {
    let book = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    std::fs::write(book.join("scenario-reference.md"), reference()).unwrap();
    for name in components() {
        let page = book.join(format!(
            "schemes/{}.md",
            if name == "mds" { "unorc".to_owned() } else { name.replace('_', "-") }
        ));
        let text = std::fs::read_to_string(&page).unwrap();
        let head = format!("<!-- made: constants {name} -->\n");
        let (before, rest) = text.split_once(&head).unwrap();
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
        std::fs::write(&page, format!("{before}{head}\n{}\n<!-- end -->\n{after}", constants(name).unwrap()))
            .unwrap();
    }
}
