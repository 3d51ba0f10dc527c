//! The body of a response in one piece.

use salvo::Response;
use salvo::http::ResBody;
use salvo::hyper::body::Bytes;

/// Joins the pieces of a complete body, and returns it; `None` for no body and for a stream.
///
/// `Json` of salvo writes a body of more than 8 KiB in pieces of that size.
pub(super) fn whole_body(res: &mut Response) -> Option<&mut Bytes> {
    if let ResBody::Chunks(pieces) = &mut res.body {
        let mut whole = Vec::with_capacity(pieces.iter().map(Bytes::len).sum());
        while let Some(piece) = pieces.pop_front() {
            whole.extend_from_slice(&piece);
        }
        res.body = ResBody::Once(whole.into());
    }
    match &mut res.body {
        ResBody::Once(body) => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_body_are_joined_and_a_stream_has_no_whole_body() {
        let mut res = Response::new();
        res.body = ResBody::Chunks([Bytes::from_static(b"one "), Bytes::from_static(b"two")].into());
        assert_eq!(whole_body(&mut res).unwrap(), "one two");
        assert!(matches!(&res.body, ResBody::Once(body) if body == "one two"));

        res.body = ResBody::None;
        assert!(whole_body(&mut res).is_none());
    }
}
