//! The macro that declares the tables and lists their names.

/// Declares the tables, and the list of their names. Checks of the sources read the declarations, which therefore begin
/// at the start of a line. rustfmt does not format the body.
macro_rules! tables {
    ($($(#[$doc:meta])* pub const $table:ident: $type:ty = $definition:expr;)+) => {
        $($(#[$doc])* pub const $table: $type = $definition;)+

        /// Names of all tables, in the order of their declaration. A test checks that the documentation lists each of
        /// them.
        pub const NAMES: &[&str] = &[
            $crate::store::meta::META.name(),
            $crate::store::meta::EPOCH.name(),
            $crate::store::meta::NODES.name(),
            $crate::store::meta::DELETED_CURSORS.name(),
            $($table.name(),)+
        ];
    };
}
pub(super) use tables;
