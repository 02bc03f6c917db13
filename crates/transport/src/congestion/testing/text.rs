//! Configurations as text: what a scenario may write for a control or a path selector.

use crate::balance::{self, BalanceConfig};
use crate::congestion::*;
use alloc::format;
use alloc::string::ToString;

fn control(text: &str) -> Result<CongestionConfig, toml::de::Error> {
    toml::from_str(text)
}

fn error(text: &str) -> alloc::string::String {
    control(text).expect_err("it is wrong").message().to_string()
}

#[test]
fn the_name_alone_gives_the_defaults() {
    for name in NAMES {
        assert_eq!(control(&format!("name = {name:?}")).ok(), CongestionConfig::by_name(name));
    }
    for name in balance::NAMES {
        let config: BalanceConfig = toml::from_str(&format!("name = {name:?}")).unwrap();
        assert_eq!(Some(config), BalanceConfig::by_name(name));
    }
}

#[test]
fn writing_then_reading_gives_the_configuration_back() {
    for config in NAMES.iter().filter_map(|name| CongestionConfig::by_name(name)).chain(testing::published())
    {
        let text = toml::to_string(&config).unwrap();
        assert_eq!(control(&text).as_ref(), Ok(&config), "{text}");
    }
    for config in balance::NAMES.iter().filter_map(|name| BalanceConfig::by_name(name)) {
        assert_eq!(toml::from_str(&toml::to_string(&config).unwrap()), Ok(config));
    }
}

#[test]
fn every_parameter_of_the_published_unocc_can_be_written() {
    let text = r#"
        name = "unocc"
        k = "24576B"
        epoch = { start = "full_window", period = "proportional", debt = "previous" }
        ewma.falling = "increase"
        md_scale.factor = 0.35
        delay = { sample = "last", tolerance = 0.055 }
        qa = { period = 1.05, reference = "cwnd", factor = 0.96, on_timeout = false, pause = "full_window" }
        pacing_headers = false
    "#;
    assert_eq!(control(text), Ok(CongestionConfig::Unocc(unocc::tests::artifact())));
}

#[test]
fn every_parameter_of_the_published_gemini_can_be_written() {
    let text = r#"
        name = "gemini"
        k = "24576B"
        h = "5376B"
        beta = 0.1
        delay_threshold = "100us"
        delay_signal = "inter"
        gain = 0.5
        alpha_start = 0.0
        update = "base_rtt"
        rtt_base = "given"
        growth = "always"
        slow_start = "threshold"
        cap = "bdp"
        pacing = "base_rtt"
        pacing_headers = false
    "#;
    assert_eq!(control(text), Ok(CongestionConfig::Gemini(gemini::tests::artifact())));
    let scaled = control("name = \"gemini\"\nk = { per_gbps = \"75KB\" }\nh = { max = 500.0 }").unwrap();
    let CongestionConfig::Gemini(scaled) = scaled else { panic!("another control than named") };
    let h = gemini::ScaledIncrease { max: 500.0, ..gemini::ScaledIncrease::default() };
    assert_eq!(
        scaled,
        gemini::GeminiConfig { h: gemini::Increase::Scaled(h), ..gemini::GeminiConfig::default() }
    );
}

#[test]
fn whole_numbers_serve_as_parameters() {
    let text = "name = \"unocc\"\nbeta = 1\nqa = { period = 2, factor = 1 }\ndelay.tolerance = 0";
    let Ok(CongestionConfig::Unocc(config)) = control(text) else { panic!("{:?}", control(text)) };
    assert_eq!(config.qa.period, unocc::QaPeriod::BaseRtts(2.0));
    assert_eq!(config.delay.tolerance, unocc::Tolerance::Fraction(0.0));
}

#[test]
fn wrong_text_is_refused_with_what_was_expected() {
    assert!(error("name = \"unoc\"").contains("`unocc`"), "{}", error("name = \"unoc\""));
    let unknown = error("name = \"unocc\"\nbetta = 0.5");
    assert!(unknown.contains("`betta`") && unknown.contains("`beta`"), "{unknown}");
    let nested = error("name = \"unocc\"\nqa.factr = 0.5");
    assert!(nested.contains("`factr`") && nested.contains("`factor`"), "{nested}");
    let k = error("name = \"unocc\"\nk = \"bdp/7\"");
    assert!(k.contains("bdp_over_7") && k.contains("a size"), "{k}");
    let period = error("name = \"unocc\"\nqa.period = \"2ms\"");
    assert!(period.contains("measured"), "{period}");
    let h = error("name = \"gemini\"\nh = \"5 packets\"");
    assert!(h.contains("a size or { factor, min, max }"), "{h}");
}
