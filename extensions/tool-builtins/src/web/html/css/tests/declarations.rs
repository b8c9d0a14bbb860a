//! The declarations that a text becomes.

use crate::web::html::css::declaration::inline_declarations;

/// The declarations of a style, each with its property, its value, and `!` if it is important.
fn declarations(style: &str) -> Vec<String> {
    let mark = |is_important| if is_important { "!" } else { "" };
    let declarations = inline_declarations(style).into_iter();
    declarations.map(|it| format!("{:?} {}{}", it.property, it.value, mark(it.is_important))).collect()
}

#[test]
fn a_value_has_one_spelling() {
    for (style, expected) in [
        ("display:none", "Display none"),
        ("DISPLAY : None ! Important ;", "Display none!"),
        ("display:none!important", "Display none!"),
        ("/**/dis\\70 lay/**/:/**/n\\6fne/**/", "Display none"),
        ("display:inline  /**/ FLEX", "Display inline flex"),
        ("color: #FFF", "Color #fff"),
        ("color: RGB( 1 , 2,3 )", "Color rgb(1,2,3)"),
        ("color: rgb( 1 2  3 / 4% )", "Color rgb(1 2 3/4%)"),
        ("left: -01.50PX", "Left -1.5px"),
        ("left: -1e99px", "Left -1000000000px"),
        ("opacity: 1e99", "Opacity 1000000000"),
        ("opacity: 1e99%", "Opacity 1000000000%"),
        ("left: calc( 1px  +  ( 2px * 3 ) )", "Left calc(1px + (2px*3))"),
        ("clip-path: URL( a.png )", "ClipPath url()"),
        ("clip-path: path( 'M 0 0' )", "ClipPath path(?)"),
        ("transform: translate( -50% , 1px ) scale( 2 )", "Transform translate(-50%,1px) scale(2)"),
    ] {
        assert_eq!(declarations(style), [expected], "{style}");
    }
    for mistake in [
        "display",
        "display:",
        "display none",
        "display:{}",
        "display:none x!",
        "display:none!x",
        ":none",
        "x:y",
        "--x:y",
    ] {
        assert_eq!(declarations(&format!("{mistake};color:red")), ["Color red"], "{mistake}");
    }
}

#[test]
fn shorthands_and_other_names_are_those_of_properties() {
    for (style, expected) in [
        ("background:#fff", &["Background #fff", "BackgroundImage none"][..]),
        ("background:no-repeat red 0/9px", &["Background red", "BackgroundImage none"]),
        ("background:url(a) #fff", &["Background #fff", "BackgroundImage PICTURE"]),
        ("background:linear-gradient(red,blue)", &["Background PICTURE", "BackgroundImage PICTURE"]),
        ("background-image:image-set(url(a) 1x)", &["BackgroundImage PICTURE"]),
        ("background-image:none", &["BackgroundImage none"]),
        ("font:italic 700 12px/1.5 serif", &["FontSize 12px"]),
        ("font:1 .5em a", &["FontSize 0.5em"]),
        ("font:inherit", &["FontSize inherit"]),
        ("margin:1px", &["MarginTop 1px", "MarginRight 1px", "MarginBottom 1px", "MarginLeft 1px"]),
        ("margin:1px 2px", &["MarginTop 1px", "MarginRight 2px", "MarginBottom 1px", "MarginLeft 2px"]),
        (
            "padding:1px 2px 3px",
            &["PaddingTop 1px", "PaddingRight 2px", "PaddingBottom 3px", "PaddingLeft 2px"],
        ),
        (
            "inset:1px 2px calc(3px + 4px) 5px",
            &["Top 1px", "Right 2px", "Bottom calc(3px + 4px)", "Left 5px"],
        ),
        ("flex:none", &["FlexGrow 0"]),
        ("flex:2 1 0", &["FlexGrow 2"]),
        ("flex:auto", &["FlexGrow 1"]),
        ("flex-flow:wrap column", &["FlexDirection column"]),
        ("flex-flow:wrap-reverse", &["FlexDirection row"]),
        ("overflow-x:hidden;overflow-y:auto", &["Overflow hidden", "Overflow auto"]),
        ("inline-size:1px;block-size:2px", &["Width 1px", "Height 2px"]),
        ("max-inline-size:1px;max-block-size:2px", &["MaxWidth 1px", "MaxHeight 2px"]),
        ("min-inline-size:1px;min-block-size:2px", &["MinWidth 1px", "MinHeight 2px"]),
        ("inset-inline-start:1px;inset-inline-end:2px", &["Left 1px", "Right 2px"]),
        ("inset-block-start:1px;inset-block-end:2px", &["Top 1px", "Bottom 2px"]),
        ("margin-inline-start:1px;margin-inline-end:2px", &["MarginLeft 1px", "MarginRight 2px"]),
        ("margin-block-start:1px;margin-block-end:2px", &["MarginTop 1px", "MarginBottom 2px"]),
        ("padding-inline-start:1px;padding-inline-end:2px", &["PaddingLeft 1px", "PaddingRight 2px"]),
        ("padding-block-start:1px;padding-block-end:2px", &["PaddingTop 1px", "PaddingBottom 2px"]),
    ] {
        assert_eq!(declarations(style), expected, "{style}");
    }
}
