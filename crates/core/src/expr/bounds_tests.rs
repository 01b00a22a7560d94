//! Expressions that are harmless until there is much.

use serde_json::{Value, json};

use crate::expr::Expr;

fn eval(source: &str, output: &Value) -> Result<Value, String> {
    Expr::compile(source, &["output"])?.eval(&[("output", output)])
}

#[test]
fn lists_inside_of_lists_are_counted() {
    let long: Value = (0..3000).collect::<Vec<u32>>().into();
    for source in [
        "output.all(x, output.all(y, x + y >= 0))",
        "output.exists(x, output.exists(y, x + y < 0))",
        "output.map(x, output.map(y, x))",
        "output.map(x, {'all': output.filter(y, y > x)})",
        "output.all(x, output.all(y, output.all(z, output.all(w, w >= 0))))",
        "[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, \
         output.filter(d, d > a + b + c).filter(e, e > a))))",
    ] {
        let error = eval(source, &long).unwrap_err();
        assert!(error.contains("goes through more than 1000000 items"), "{source}: {error}");
    }
    // One list after another, however long, and small ones inside of others, are as they were.
    let longer: Value = (0..50_000).collect::<Vec<u32>>().into();
    assert_eq!(eval("output.filter(x, x > 1).all(x, x > 0)", &longer), Ok(json!(true)));
    let orders: Value = (0..5_000).map(|n| json!({ "items": [n, n + 1] })).collect();
    let source = "output.all(order, order.items.all(item, item >= 0))";
    assert_eq!(eval(source, &orders), Ok(json!(true)));
    // Each evaluation counts anew.
    assert_eq!(eval(source, &orders), Ok(json!(true)));
}

#[test]
fn nothing_doubles_again_and_again() {
    for step in [".map(x, x + x)", ".map(x, [x, x])", ".map(x, {'a': x, 'b': x})"] {
        let source = format!("[output]{}", step.repeat(14));
        let error = Expr::compile(&source, &["output"]).unwrap_err();
        assert!(error.contains("larger"), "{source}: {error}");
    }
    for fine in [
        "output.map(x, x + '-' + x)",
        "output.map(x, x.first + ' ' + x.last + ' ' + x.city + ' ' + x.mail)",
        "output.exists(x, x == 'a' || x == 'b') && output.exists(x, x == 'c' || x == 'd' || x == 'e')",
        "[output].map(x, [x, x]).map(x, [x, x])",
    ] {
        assert!(Expr::compile(fine, &["output"]).is_ok(), "{fine}");
    }
}
