"""What a reply must not be: a 5xx, unless it is a documented one about a device that cannot answer."""

import schemathesis

ALLOWED = {(503, "device_offline")}


@schemathesis.check
def no_server_error(_context, response, _case):
    if response.status_code < 500:
        return
    try:
        code = response.json().get("code")
    except ValueError:
        code = None
    if (response.status_code, code) not in ALLOWED:
        raise AssertionError(f"server error {response.status_code} {code}: {response.text[:300]}")
