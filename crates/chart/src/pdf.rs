//! A drawing as PDF: one page, the font within.

use crate::drawing::{Anchor, At, Drawing, Fill, Mark, Paint, Step, Stroke, Text};
use crate::font::{FILE, face, glyph, width};
use crate::style::INK;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const FONT_FILE: Ref = Ref::new(8);
const SIGNS: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);
/// The first of the opacities'.
const OPACITIES: i32 = 11;

/// The font's name in the page.
const F: Name<'static> = Name(b"F");
/// The font's own name.
const ARIMO: Name<'static> = Name(b"Arimo");
const IDENTITY: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

impl Drawing {
    /// The drawing as a PDF document of one page, its font embedded.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        let mut page = Page { content: Content::new(), opacities: BTreeMap::new(), signs: BTreeMap::new() };
        // PDF counts upwards.
        page.content.transform([1.0, 0.0, 0.0, -1.0, 0.0, self.height as f32]);
        for mark in &self.marks {
            match mark {
                Mark::Path { steps, stroke, fill } => page.path(steps, stroke.as_ref(), *fill),
                Mark::Text(text) => page.text(text),
            }
        }
        page.finish(self)
    }
}

/// The page, as far as it is written.
struct Page {
    content: Content,
    /// Hundredths of opacity, and the numbers that they have.
    opacities: BTreeMap<(u8, u8), i32>,
    /// Signs by glyph, so that text can be searched and copied.
    signs: BTreeMap<u16, char>,
}

impl Page {
    /// Between `q` and `Q`, with lines and areas so opaque.
    fn opaque(&mut self, stroke: f64, fill: f64) {
        let hundredths = |share: f64| (share * 100.0).round() as u8;
        let key = (hundredths(stroke), hundredths(fill));
        if key != (100, 100) {
            let next = self.opacities.len() as i32;
            let number = *self.opacities.entry(key).or_insert(next);
            self.content.set_parameters(Name(format!("G{number}").as_bytes()));
        }
    }

    fn path(&mut self, steps: &[Step], stroke: Option<&Stroke>, fill: Option<Fill>) {
        self.content.save_state();
        self.opaque(stroke.map_or(1.0, |s| s.opacity), fill.map_or(1.0, |f| f.opacity));
        if let Some(Fill { paint, .. }) = fill {
            let [r, g, b] = rgb(paint);
            self.content.set_fill_rgb(r, g, b);
        }
        if let Some(Stroke { paint, width, dashes, .. }) = stroke {
            let [r, g, b] = rgb(*paint);
            self.content.set_stroke_rgb(r, g, b).set_line_width(*width as f32);
            if !dashes.is_empty() {
                self.content.set_dash_pattern(dashes.iter().map(|dash| *dash as f32), 0.0);
            }
        }
        let point = |(x, y): &At| (*x as f32, *y as f32);
        for step in steps {
            match step {
                Step::Move(to) => {
                    let (x, y) = point(to);
                    self.content.move_to(x, y);
                }
                Step::Line(to) => {
                    let (x, y) = point(to);
                    self.content.line_to(x, y);
                }
                Step::Curve(a, b, to) => {
                    let ((a, b), (c, d), (x, y)) = (point(a), point(b), point(to));
                    self.content.cubic_to(a, b, c, d, x, y);
                }
                Step::Close => {
                    self.content.close_path();
                }
            }
        }
        match (stroke.is_some(), fill.is_some()) {
            (true, true) => self.content.fill_nonzero_and_stroke(),
            (true, false) => self.content.stroke(),
            (false, true) => self.content.fill_nonzero(),
            (false, false) => self.content.end_path(),
        };
        self.content.restore_state();
    }

    fn text(&mut self, text: &Text) {
        let mut bytes = Vec::new();
        for sign in text.text.chars() {
            let (glyph, _) = glyph(sign);
            self.signs.entry(glyph).or_insert(sign);
            bytes.extend(glyph.to_be_bytes());
        }
        let long = width(&text.text, text.size);
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => long / 2.0,
            Anchor::End => long,
        };
        let (x, y) = text.at;
        // Turned over again, since the page is: letters stand upright.
        let matrix = if text.upright {
            [0.0, -1.0, -1.0, 0.0, x as f32, (y + back) as f32]
        } else {
            [1.0, 0.0, 0.0, -1.0, (x - back) as f32, y as f32]
        };
        self.content.begin_text().set_font(F, text.size as f32).set_text_matrix(matrix);
        self.content.show(Str(&bytes)).end_text();
    }

    fn finish(self, drawing: &Drawing) -> Vec<u8> {
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        pdf.document_info(INFO).title(TextStr(&drawing.title)).producer(TextStr("farspan"));
        let mut page = pdf.page(PAGE);
        page.parent(PAGES).contents(CONTENT);
        page.media_box(Rect::new(0.0, 0.0, drawing.width as f32, drawing.height as f32));
        let mut resources = page.resources();
        resources.fonts().pair(F, FONT);
        if !self.opacities.is_empty() {
            let mut states = resources.ext_g_states();
            for number in self.opacities.values() {
                states.pair(Name(format!("G{number}").as_bytes()), Ref::new(OPACITIES + number));
            }
        }
        drop(resources);
        drop(page);
        for ((stroke, fill), number) in &self.opacities {
            let mut state = pdf.ext_graphics(Ref::new(OPACITIES + number));
            state.stroking_alpha(f32::from(*stroke) / 100.0);
            state.non_stroking_alpha(f32::from(*fill) / 100.0);
        }
        pdf.stream(CONTENT, &self.content.finish());
        font(&mut pdf, &self.signs);
        pdf.finish()
    }
}

/// The font's objects.
fn font(pdf: &mut Pdf, signs: &BTreeMap<u16, char>) {
    let face = face();
    let scaled = |units: i16| f32::from(units) * 1000.0 / f32::from(face.units_per_em());
    pdf.type0_font(FONT)
        .base_font(ARIMO)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID_FONT)
        .to_unicode(SIGNS);
    let mut cid = pdf.cid_font(CID_FONT);
    cid.subtype(CidFontType::Type2).base_font(ARIMO).system_info(IDENTITY).font_descriptor(DESCRIPTOR);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    let advances = (0..face.number_of_glyphs())
        .map(|glyph| face.glyph_hor_advance(ttf_parser::GlyphId(glyph)).unwrap_or_default())
        .map(|advance| f32::from(advance) * 1000.0 / f32::from(face.units_per_em()));
    cid.widths().consecutive(0, advances);
    drop(cid);
    let bounds = face.global_bounding_box();
    pdf.font_descriptor(DESCRIPTOR)
        .name(ARIMO)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(
            scaled(bounds.x_min),
            scaled(bounds.y_min),
            scaled(bounds.x_max),
            scaled(bounds.y_max),
        ))
        .italic_angle(0.0)
        .ascent(scaled(face.ascender()))
        .descent(scaled(face.descender()))
        .cap_height(scaled(face.capital_height().unwrap_or(face.ascender())))
        .stem_v(80.0)
        .font_file2(FONT_FILE);
    pdf.stream(FONT_FILE, FILE).pair(Name(b"Length1"), FILE.len() as i32);
    let mut map = UnicodeCmap::<u16>::new(Name(b"Signs"), IDENTITY);
    for (glyph, sign) in signs {
        map.pair(*glyph, *sign);
    }
    pdf.cmap(SIGNS, &map.finish()).name(Name(b"Signs")).system_info(IDENTITY);
}

fn rgb(paint: Paint) -> [f32; 3] {
    let text = match paint {
        Paint::Ink => INK,
        Paint::Soft => "#dddddd",
        Paint::Ground => "#ffffff",
        Paint::Colour(colour) => colour,
    };
    let part = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("colours are #rrggbb");
    [1, 3, 5].map(|at| f32::from(part(at)) / 255.0)
}
