"""Is the JSON of standard input, or each of its lines, what docs/schema/NAME.json says? `schema_check.py SCHEMA [--lines]` prints what is not,
by python3-jsonschema where it is there, else by the words of JSON Schema that the schemas use: type, required, properties, items, anyOf."""
import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def wrong(value, schema, where="$"):
    """Sentences, of the first thing that is wrong."""
    if "anyOf" in schema:
        return [] if any(not wrong(value, one) for one in schema["anyOf"]) else [f"{where}: is none of anyOf"]
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of(value, name) for name in types):
        return [f"{where}: {json.dumps(value)[:60]} is no {' or '.join(types)}"]
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                return [f"{where}: has no {key}"]
        for key, one in schema.get("properties", {}).items():
            if key in value and (found := wrong(value[key], one, f"{where}.{key}")):
                return found
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            if found := wrong(item, schema["items"], f"{where}[{i}]"):
                return found
    return []


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    texts = sys.stdin.read().splitlines() if "--lines" in sys.argv else [sys.stdin.read()]
    try:
        import jsonschema
        def check(value):
            return [f"{e.json_path}: {e.message[:200]}" for e in jsonschema.Draft202012Validator(schema).iter_errors(value)] or wrong(value, schema)
    except (ImportError, AttributeError):
        def check(value):
            return wrong(value, schema)
    found = [sentence for text in texts for sentence in check(json.loads(text))]
    print(*found[:3], sep="\n", end="\n" if found else "")
    return bool(found or not texts)


if __name__ == "__main__":
    sys.exit(main())
