"""The emails of the corpus that are written by hand: html that a rewriter of links can break.

`CASES` has the name and the html of each email. The name is that of the difficulty. Most emails contain a link.
"""

PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAJmZzAAAACwAAAAAAQABAAACAkQBADs="
LINK = '<a href="https://example.com/a">A link</a>'
TEXT = "<p>Some text of the email that wraps over more than one line in a narrow window.</p>"


def page(body, head="", attributes=""):
    return f"<!doctype html>\n<html><head><title>Email</title>{head}</head><body{attributes}>{body}</body></html>\n"


def styled(css, body):
    return page(body, head=f"<style>{css}</style>")


def rows(count, cell):
    return "".join(f"<tr><td>{number}</td><td>{cell(number)}</td></tr>" for number in range(count))


CASES = {
    # The structure of the document.
    "fragment": f"<p>Hello</p>{LINK}",
    "text-only": "Hello, this is html without a tag.",
    "empty-paragraph": "<p></p>",
    "one-link": '<a href="https://example.com/">x</a>',
    "no-body": f"<!doctype html><html><head><title>x</title></head><p>{LINK}</p></html>",
    "no-head": f"<html><body>{LINK}</body></html>",
    "two-bodies": f"<html><body>{LINK}</body><body><p>{LINK}</p></body></html>",
    "text-after-body": f"<html><body>{LINK}</body></html>\n<p>after the end</p>",
    "unclosed-body": f"<html><body><p>{LINK}",
    "body-in-comment": f"<html><body>{LINK}<!-- </body> --><p>more</p></body></html>",
    "body-in-script": f"<html><body>{LINK}<script>var end = '</body>';</script><p>more</p></body></html>",
    "body-in-attribute": f'<html><body><p title="</body>">{LINK}</p></body></html>',
    "body-in-textarea": f"<html><body>{LINK}<textarea></body></textarea><p>more</p></body></html>",
    "uppercase": '<!DOCTYPE HTML><HTML><HEAD><TITLE>X</TITLE></HEAD><BODY><P><A HREF="HTTPS://EXAMPLE.COM/UP">UP</A></P></BODY></HTML>',
    "xhtml": f'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><body><p>{LINK}<br /></p></body></html>',
    "quirks": f"<html><body><table width=100% height=100%><tr><td>{LINK}</td></tr></table></body></html>",
    "byte-order-mark": "\ufeff" + page(LINK),
    "crlf": page(f"<p>one</p>\n<p>{LINK}</p>\n").replace("\n", "\r\n"),
    "frameset": "<html><head></head><frameset><noframes>none</noframes></frameset></html>",
    "nested-html": f"<html><body><div><html><body>{LINK}</body></html></div><p>quoted</p></body></html>",
    # Attributes.
    "unquoted": page("<p><a href=https://example.com/unquoted?x=1&y=2 class=b>x</a></p>"),
    "single-quotes": page("<p><a href='https://example.com/it\"s'>x</a></p>"),
    "spaces-around": page('<p><a href = " https://example.com/spaces \n" >x</a></p>'),
    "newline-in-href": page('<p><a\nhref="https://example.com/\nsplit"\n>x</a></p>'),
    "entities": page('<p><a href="https://example.com/?a=1&amp;b=2&#38;c=3&copy=4&lt;">x</a></p>'),
    "encoded-scheme": page('<p><a href="&#104;ttps://example.com/">x</a> <a href="https&colon;//example.com/">y</a></p>'),
    "two-hrefs": page('<p><a href="https://example.com/first" href="https://example.com/second">x</a></p>'),
    "empty-href": page('<p><a href="">x</a> <a href>y</a> <a>z</a></p>'),
    "other-schemes": page('<p><a href="mailto:a@example.com">m</a> <a href="tel:+1">t</a> <a href="#top">h</a> <a href="/r">r</a> <a href="//example.com/p">p</a> <a href="javascript:void(0)">j</a> <a href="cid:1">c</a> <a href="ftp://example.com/">f</a></p>'),
    "unicode-href": page('<p><a href="https://例え.example/ü?q=ä#ñ">x</a></p>'),
    "long-href": page(f'<p><a href="https://example.com/{"x" * 1900}">x</a> <a href="https://example.com/{"y" * 6000}">y</a></p>'),
    "broken-href": page('<p><a href="https://">x</a> <a href="https:///a">y</a> <a href="https://exa mple.com/">z</a> <a href="https://[::1">w</a></p>'),
    "attributes-around": page('<p><a id=x data-a="1" href="https://example.com/" target=_blank rel="noopener" style="color:red">x</a></p>'),
    "placeholder": page('<p>Hello {{name}}, <a href="https://example.com/{{path}}">x</a></p>'),
    # Links and their content.
    "nested-links": page('<p><a href="https://example.com/outer">outer <a href="https://example.com/inner">inner</a> rest</a></p>'),
    "unclosed-link": page('<p><a href="https://example.com/open">open</p><p>also a link</p>'),
    "block-link": page('<a href="https://example.com/block"><table><tr><td><h1>Block</h1></td></tr></table></a>'),
    "link-in-head": page(LINK, head='<link rel="stylesheet" href="https://example.com/s.css"><base target="_blank">'),
    "base-href": page('<p><a href="https://example.com/a">a</a> <a href="b">b</a></p>', head='<base href="https://base.example.com/">'),
    "image-map": page(f'<img src="{PICTURE}" width="200" height="90" usemap="#m" alt=""><map name="m"><area shape="rect" coords="0,0,90,90" href="https://example.com/left" alt="left"><area shape="circle" coords="150,45,40" href="https://example.com/right" alt="right"></map>'),
    "svg-link": page('<svg width="200" height="60" xmlns:xlink="http://www.w3.org/1999/xlink"><a href="https://example.com/svg"><rect width="90" height="50" fill="teal"/></a><a xlink:href="https://example.com/xlink"><circle cx="140" cy="25" r="25"/></a></svg>'),
    "math": page('<math href="https://example.com/math"><mi>x</mi><mo>=</mo><mn>1</mn></math><p>' + LINK + "</p>"),
    "srcset": page(f'<picture><source srcset="https://example.com/b.png 2x"><img src="{PICTURE}" srcset="https://example.com/c.png 3x" width="80" height="40" alt="p"></picture>{LINK}'),
    "form": page('<form action="https://example.com/form"><input name="q" value="x"><button formaction="https://example.com/other">Go</button></form>' + LINK),
    "iframe-object": page(f'<iframe srcdoc="&lt;a href=&quot;https://example.com/&quot;&gt;x&lt;/a&gt;" width="100" height="40"></iframe><object data="{PICTURE}" width="40" height="40"></object>{LINK}'),
    "template-element": page(f"<template>{LINK}</template><p>{LINK}</p>"),
    "noscript": page(f"<noscript><p>{LINK}</p></noscript><p>text</p>"),
    # Comments, scripts and styles.
    "link-in-comment": page(f"<!-- {LINK} --><p>text</p>"),
    "link-in-script": page("<script>document.title = '<a href=\"https://example.com/\">';</script><p>text</p>" + LINK),
    "link-in-style": styled("a[href='https://example.com/a'] { color: green } p::after { content: '<a href=x>' }", f"<p>{LINK}</p>"),
    "odd-comments": page(f"<!--> {LINK} <!---> <!-- a -- b --> <!-- c --!> <p>text</p><!"),
    "cdata": page(f"<![CDATA[ {LINK} ]]><p>text</p>"),
    "mso-conditional": page(f'<!--[if mso]><table><tr><td><a href="https://example.com/mso">mso</a></td></tr></table><![endif]--><!--[if !mso]><!-->{LINK}<!--<![endif]-->'),
    "vml-button": page('<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://example.com/vml" style="height:40px;width:200px"><center>Vml</center></v:roundrect><![endif]--><![if !mso]><a href="https://example.com/b" style="display:inline-block;padding:12px;background:#333;color:#fff">B</a><![endif]>'),
    "amp": f"<!doctype html><html ⚡4email data-css-strict><head><meta charset=utf-8><style amp4email-boilerplate>body{{visibility:visible}}</style></head><body><amp-img width=10 height=10 src=x></amp-img>{LINK}</body></html>",
    # Styles that depend on the last or the only element of the body, on its size, or on its children.
    "last-child": styled("body > p:last-child { color: red; font-weight: bold } a:last-child { background: yellow }", f"{TEXT}<p>one {LINK}</p><p>last {LINK}</p>"),
    "nth-last-child": styled("body > *:nth-last-child(2) { border: 2px solid blue } body > *:nth-last-child(odd) { background: #eee }", TEXT * 5 + LINK),
    "only-child": styled("body > div:only-child { border: 3px solid green; padding: 9px }", f"<div>{LINK}</div>"),
    "last-of-type": styled("img:last-of-type { border: 4px solid red }", f'<img src="{PICTURE}" width="40" height="40" alt=""><img src="{PICTURE}" width="40" height="40" alt="">{LINK}'),
    "sibling-rules": styled("p + * { color: purple } p ~ img { display: block; width: 100% } body > * + * { margin-top: 33px }", f"{TEXT}{LINK}{TEXT}"),
    "has-image": styled("body:has(img) { background: pink } body:empty { background: red }", f"<p>{LINK}</p>"),
    "img-block": styled("img { display: block; width: 100%; height: 80px; border: 5px solid navy; margin: 20px; position: relative }", f"<p>{LINK}</p>"),
    "img-important": styled("img { position: static !important; display: block !important; width: 90px !important; height: 30px !important; border: 3px solid red !important }", f"<p>{LINK}</p>"),
    "href-selector": styled("a[href^='https://example.com'] { color: #c00; font-size: 24px } a[href$='.pdf']::after { content: ' (PDF)' }", f'<p>{LINK} <a href="https://example.com/x.pdf">file</a></p>'),
    "visited-colours": styled("a:link { color: #090 } a:visited { color: #909 } a:any-link { text-decoration: overline }", f"<p>{LINK}</p>"),
    "body-margin-0": page(f'<div style="background:#ddd;height:300px">{LINK}</div>', attributes=' style="margin:0;padding:0"'),
    "full-height": styled("html, body { height: 100%; margin: 0 } .f { min-height: 100%; background: linear-gradient(#fff, #369) }", f'<div class="f">{LINK}</div>'),
    "flex-body": styled("body { display: flex; flex-direction: column; justify-content: space-between; gap: 40px; min-height: 500px; margin: 0 }", f"<p>top</p><p>{LINK}</p><p>bottom</p>"),
    "flex-row-body": styled("body { display: flex; flex-wrap: wrap } body > * { flex: 1 1 30% ; border: 1px solid }", f"<p>1</p><p>2</p><p>{LINK}</p><p>4</p>"),
    "grid-body": styled("body { display: grid; grid-template-columns: 1fr 1fr; grid-auto-rows: 90px; gap: 9px } body > * { background: #cde }", f"<p>1</p><p>2</p><p>{LINK}</p>"),
    "columns-body": styled("body { columns: 3; column-rule: 1px solid }", TEXT * 12 + LINK),
    "scroll-body": styled("html { overflow: hidden } body { overflow: auto; height: 200px; border: 1px solid }", TEXT * 12 + LINK),
    "positioned-body": styled("body { position: relative; transform: rotate(1deg); min-height: 200px }", TEXT + LINK),
    "background-fixed": page(f"<p>{LINK}</p>{TEXT * 20}", attributes=f' background="{PICTURE}" style="background-attachment:fixed;background-color:#efe"'),
    "dark-mode": styled(":root { color-scheme: light dark } @media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }", f"<p>{LINK}</p>"),
    "right-to-left": f'<!doctype html><html dir="rtl" lang="ar"><body><p>مرحبا بالعالم {LINK}</p><ul><li>واحد</li><li>اثنان</li></ul></body></html>',
    "vertical-writing": styled("html { writing-mode: vertical-rl }", f"<p>縦書き {LINK}</p>{TEXT}"),
    "counter": styled("body { counter-reset: n } body > * { counter-increment: n } body::after { content: 'elements: ' counter(n) }", f"<p>1</p><p>{LINK}</p>"),
    "inline-end": page(f"{TEXT}text at the end {LINK} and more", attributes=' style="text-align:justify;line-height:40px"'),
    # Tables, size and errors.
    "table-body": f'<table width="600" align="center" bgcolor="#eeeeee"><tr><td align="center">{LINK}</td></tr></table>',
    "open-table": page(f"<table><tr><td>{LINK}<tr><td>two<table><tr><td>inner"),
    "text-in-table": page(f"<table>loose text<tr><td>{LINK}</td></tr>{LINK}</table>"),
    "table-at-the-end": page(f'<table border="1" width="100%">{rows(30, lambda number: LINK)}</table>'),
    "many-links": page("".join(f'<p><a href="https://example.com/{number}?a=1&amp;b={number}">Link {number}</a></p>' for number in range(300))),
    "huge": page(TEXT * 1200 + LINK),
    "deep": page("<div>" * 300 + LINK + "</div>" * 300),
    "misnested": page(f"<b><i>bold</b> italic</i> <p><span>{LINK}</p></span></div></td>"),
    "broken-tags": page(f"<p <b>text</p>< p>not a tag</p><a href='https://example.com/x\">never closed {LINK}"),
    "unusual-characters": page(f"<p>emoji \U0001f389, joiner \u200d, soft\u00adhyphen, no-break\u00a0space {LINK}</p>"),
    "preheader": page(f'<div style="display:none;max-height:0;overflow:hidden">Preview &#8199;&#847;&zwnj;</div><p>{LINK}</p>'),
    "pre-whitespace": page(f"<pre>  keeps\n\n   its   spaces {LINK}   \n</pre>"),
}  # fmt: skip
