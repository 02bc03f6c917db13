//! The program of the book's page "Embed the transport".

#[path = "../../examples/embed.rs"]
mod program;

#[test]
fn it_runs_and_is_short() {
    program::main();
    let lines = include_str!("../../examples/embed.rs").lines().count();
    assert!(lines <= 60, "{lines} lines");
}
