//! Boxes without room for a text, and boxes that are moved out of the window.

use super::{
    declaration::Property,
    hiding::{ElementStyle, HidingSource},
    length::{Axis, CssLength, number_and_unit},
};

/// Pixels by which floats, such as columns, are not moved back among others.
const MIN_FLOAT_SHIFT: f64 = -3000.0;

/// Pixels by which no part of a page is moved over the one above it.
const MIN_OVERLAP: f64 = -2000.0;

/// Pixels of a padding in which a text is seen.
const MIN_PADDING: f64 = 4.0;

/// The layout that an element gives to those inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParentLayout {
    /// A flexible box along an axis: what is inside may grow.
    Flex(Axis),
    /// One in which nothing grows.
    Fixed,
    /// No style that was read says it.
    Unknown,
}

impl ParentLayout {
    pub(super) fn of_style(style: &ElementStyle<'_>) -> Self {
        let display = style.value_or_empty(Property::Display);
        let direction = style.value_or_empty(Property::FlexDirection);
        match display {
            "flex" | "inline-flex" | "-webkit-flex" | "-webkit-inline-flex" => match direction {
                "" | "initial" | "row" | "row-reverse" => Self::Flex(Axis::Horizontal),
                "column" | "column-reverse" => Self::Flex(Axis::Vertical),
                _ => Self::Unknown,
            },
            "block" | "inline" | "inline-block" | "list-item" | "flow-root" | "table-cell" => Self::Fixed,
            _ => Self::Unknown,
        }
    }
}

/// The properties of the size along an axis.
struct SizeProperties {
    sizes: [Property; 2],
    min: Property,
    padding: [Property; 2],
}

impl SizeProperties {
    fn of_axis(axis: Axis) -> Self {
        use Property::*;
        match axis {
            Axis::Horizontal => {
                Self { sizes: [Width, MaxWidth], min: MinWidth, padding: [PaddingLeft, PaddingRight] }
            }
            Axis::Vertical => {
                Self { sizes: [Height, MaxHeight], min: MinHeight, padding: [PaddingTop, PaddingBottom] }
            }
        }
    }
}

impl ElementStyle<'_> {
    /// Returns the place of the style that leaves no room for the text of the element.
    pub(super) fn empty_box_source(&self, tag: &str, parent: ParentLayout) -> Option<HidingSource> {
        // The size of a table, and of its parts, is a smallest one.
        let display = self.value_or_empty(Property::Display);
        let is_table = match display {
            "" => matches!(tag, "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" | "caption"),
            display => display.contains("table"),
        };
        if is_table {
            return None;
        }
        [Axis::Horizontal, Axis::Vertical].into_iter().find_map(|axis| self.empty_axis_source(axis, parent))
    }

    fn empty_axis_source(&self, axis: Axis, parent: ParentLayout) -> Option<HidingSource> {
        let SizeProperties { sizes: [size, max], min, padding } = SizeProperties::of_axis(axis);
        let source_of_point = |property| {
            let (value, source) = self.get(property)?;
            let is_set = !matches!(value, "auto" | "none" | "normal" | "initial" | "unset" | "revert");
            let is_point = is_set && CssLength::parse(value, axis).is_some_and(CssLength::is_point);
            Some(source).filter(|source| is_point && self.cuts_overflow(*source))
        };
        let source = source_of_point(size)
            .filter(|_| !self.may_grow(axis, parent))
            .or_else(|| source_of_point(max))?;
        let padding = CssLength::sum(padding.map(|it| self.value_or_empty(it)), axis);
        let is_empty = CssLength::parse(self.value_or_empty(min), axis).is_some_and(CssLength::is_point)
            && padding.is_some_and(|it| it.pixels() <= MIN_PADDING);
        is_empty.then_some(source)
    }

    /// Returns `true` if a text that has no room is not seen beside the box.
    fn cuts_overflow(&self, source: HidingSource) -> bool {
        match self.get(Property::Overflow) {
            Some((value, _)) => !value.starts_with("visible"),
            // A sheet that is not read may cut what an element makes small.
            None => source == HidingSource::Element,
        }
    }

    /// Returns `true` if the box may be larger than it says, since it takes the free room of its parent.
    fn may_grow(&self, axis: Axis, parent: ParentLayout) -> bool {
        let is_growing = match self.value_or_empty(Property::FlexGrow) {
            "" | "initial" | "unset" | "revert" => false,
            value => number_and_unit(value).is_none_or(|(part, _)| part > 0.0),
        };
        is_growing && (parent == ParentLayout::Unknown || parent == ParentLayout::Flex(axis))
    }

    /// Returns the place of the styles that move the element out of the window.
    pub(super) fn shift_source(&self) -> Option<HidingSource> {
        use Property::*;
        let is_set =
            |property| !matches!(self.value_or_empty(property), "" | "auto" | "initial" | "unset" | "revert");
        let is_positioned = self.value_or_empty(Position) != "static";
        // The end of a box that stands by its start is of no matter.
        let stands_by_end = |start, end| is_positioned && is_set(end) && !is_set(start);
        let is_right_float = self.value_or_empty(Float) == "right";
        self.start_shift_source([Left, MarginLeft, PaddingLeft], Axis::Horizontal)
            .or_else(|| self.start_shift_source([Top, MarginTop, PaddingTop], Axis::Vertical))
            .or_else(|| match stands_by_end(Left, Right) {
                true => self.sum_source(&[Right, MarginRight], Axis::Horizontal, Self::is_away),
                false if is_right_float => {
                    self.sum_source(&[MarginRight], Axis::Horizontal, Self::is_float_away)
                }
                false => None,
            })
            .or_else(|| match stands_by_end(Top, Bottom) {
                true => self.sum_source(&[Bottom, MarginBottom], Axis::Vertical, Self::is_away),
                false => None,
            })
    }

    /// Judges the offset, the margin and the padding at the start of the box, of which one may undo another.
    fn start_shift_source(
        &self,
        [offset, margin, padding]: [Property; 3],
        axis: Axis,
    ) -> Option<HidingSource> {
        let position = self.value_or_empty(Property::Position);
        let has_offset = position != "static" && !matches!(self.value_or_empty(offset), "" | "auto");
        let is_float = axis == Axis::Horizontal
            && matches!(self.value_or_empty(Property::Float), "left" | "right")
            && !matches!(position, "absolute" | "fixed");
        let is_hiding = match (has_offset, axis) {
            _ if is_float => Self::is_float_away,
            (false, Axis::Vertical) => Self::is_overlap_away,
            _ => Self::is_away,
        };
        match (has_offset, self.get(margin)) {
            (true, _) => self.sum_source(&[offset, margin, padding], axis, is_hiding),
            (false, Some(_)) => self.sum_source(&[margin, padding], axis, is_hiding),
            (false, None) => None,
        }
    }

    fn is_away(shift: CssLength, axis: Axis) -> bool {
        shift.is_far_away(axis)
    }

    /// A column is often moved back by the whole width of the others.
    fn is_float_away(shift: CssLength, _: Axis) -> bool {
        shift.absolute <= MIN_FLOAT_SHIFT || shift.absolute >= -MIN_FLOAT_SHIFT
    }

    fn is_overlap_away(shift: CssLength, _: Axis) -> bool {
        shift.pixels() <= MIN_OVERLAP || shift.absolute >= -MIN_FLOAT_SHIFT
    }

    /// Returns the place of the styles of some properties, if their sum is known and `is_hiding`.
    fn sum_source(
        &self,
        properties: &[Property],
        axis: Axis,
        is_hiding: fn(CssLength, Axis) -> bool,
    ) -> Option<HidingSource> {
        let values = properties.iter().filter_map(|property| self.get(*property));
        let source = values.clone().map(|(_, source)| source).reduce(HidingSource::combined_with)?;
        let sum = CssLength::sum(values.map(|(value, _)| value), axis)?;
        is_hiding(sum, axis).then_some(source)
    }
}
