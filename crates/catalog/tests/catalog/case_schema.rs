//! The committed JSON schema is the one that the types give.

#[test]
fn the_schema_is_current() {
    let committed = include_str!("../../../../cases/schema.json");
    assert!(
        committed == catalog::case::schema(),
        "cases/schema.json is stale; renew it with `cargo run -- dev renew`"
    );
}
