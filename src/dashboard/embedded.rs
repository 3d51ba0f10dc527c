//! The embedded files of a folder, with the compressed forms that the build script has made.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rust_embed::RustEmbed;
use salvo::hyper::body::Bytes;

use crate::http::StaticText;

/// Returns the files of a folder by path.
pub(super) fn texts<F: RustEmbed>() -> BTreeMap<String, Arc<StaticText>> {
    let text = |name: Cow<'static, str>| {
        let form = |extension: &str| F::get(&format!("{name}.{extension}")).map(|form| in_place(form.data));
        let text = StaticText::with_forms(in_place(F::get(&name)?.data), form("br"), form("gz"));
        Some((name.into_owned(), Arc::new(text)))
    };
    F::iter().filter(|name| !name.ends_with(".br") && !name.ends_with(".gz")).filter_map(text).collect()
}

/// Returns the bytes of an embedded file, without a copy of them.
fn in_place(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}
