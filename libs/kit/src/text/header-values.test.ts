import { describe, expect, it } from "@jest/globals";
import {
  attachment,
  cookieLine,
  cookiePair,
  cspLine,
  cspOrigin,
  entityTag,
  HeaderError,
  isLocation,
  locationLine,
} from "./header-values.ts";

/** Every ASCII character, and others that some grammar, normal form or decoder treats as one of them. */
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const others = ["%3b", "%2C", "%00", "\u00a0", "\u037e", "\uff1b", "\uff0c", "\uff0a", "\u2028", "\ud800", "😀"];
const corpus = [...ascii, ...others, "\r\nX-Evil: 1", "; sandbox", ", default-src *", '"; filename="x.exe'];
/** What a header value may hold so that every client reads the same (RFC 9110 section 5.5). */
const visible = /^[\x20-\x7e]*$/;

describe("the origin of a logo in a content security policy", () => {
  it.each([
    ["https://cdn.acme.example/logo.png?x=1", "https://cdn.acme.example"],
    ["https://cdn.acme.example:8443/logo.png", "https://cdn.acme.example:8443"],
    ["https://CDN.Acme.Example/", "https://cdn.acme.example"],
    ["https://münchen.example/", "https://xn--mnchen-3ya.example"],
    ["https://192.0.2.7/l.png", "https://192.0.2.7"],
    ["https://[2001:db8::7]/l.png", null],
    ["https://a;sandbox/x.png", null],
    ["https://a,b/x.png", null],
    ["https://a'b/x.png", null],
    ["https://*/x.png", null],
    ["https://*.acme.example/x.png", null],
    ["https://%2a/x.png", null],
    ["https://acme_cdn.example/x.png", null],
    ["https://acme.example./x.png", null],
    ["http://acme.example/x.png", null],
    ["data:image/png;base64,AAAA", null],
    ["", null],
  ])("made of %s is %s", (url, origin) => {
    expect(cspOrigin(url)).toBe(origin);
  });

  it("adds one source to one directive, or none, whatever is in its host", () => {
    const urls = (text: string) => [
      `https://a${text}b.example/x.png`,
      `https://${text}/x.png`,
      `https://a.example/${text}`,
    ];
    for (const url of corpus.flatMap(urls)) {
      const origin = cspOrigin(url);
      const [, value] = cspLine({
        "img-src": ["'self'", ...(origin === null ? [] : [origin])],
        "base-uri": ["'none'"],
      });
      expect(value).toMatch(/^img-src 'self'( https:\/\/[a-z0-9.-]+(:\d+)?)?; base-uri 'none'$/);
    }
  });

  it("is refused by the policy where nobody has validated it", () => {
    for (const text of ["https://a;sandbox", "https://a,b", "a b", "a\n", ""]) {
      expect(() => cspLine({ "img-src": [text] })).toThrow(HeaderError);
    }
  });
});

describe("a file name in Content-Disposition", () => {
  it.each([
    ["muster-agent_1.2.3_linux-amd64", 'attachment; filename="muster-agent_1.2.3_linux-amd64"'],
    ['a"b.exe', "attachment; filename=\"a_b.exe\"; filename*=UTF-8''a%22b.exe"],
    ["../a b", "attachment; filename=\"_._a_b\"; filename*=UTF-8''..%2Fa%20b"],
    ["é'(1).txt", "attachment; filename=\"___1_.txt\"; filename*=UTF-8''%C3%A9%27%281%29.txt"],
  ])("%s is %s", (name, value) => {
    expect(attachment(name)).toBe(value);
  });

  it("stays one name, whatever is in it", () => {
    const form = /^attachment; filename="[A-Za-z0-9._+-]+"(?:; filename\*=UTF-8''([A-Za-z0-9._~!#$&+^`|%-]+))?$/;
    for (const text of corpus) {
      const [, extended] = form.exec(attachment(`a${text}b`)) ?? ["", "not of this form"];
      const whole = `a${text.replace("\ud800", "\ufffd")}b`;
      expect(extended === undefined ? whole : decodeURIComponent(extended)).toBe(whole);
    }
  });
});

describe("an address in Location", () => {
  it.each(["javascript:alert(1)", "data:text/html,x", "/login", "//evil.example", "", "https://"])(
    "%s is refused",
    (url) => {
      expect(isLocation(url)).toBe(false);
      expect(() => locationLine(url)).toThrow(HeaderError);
    },
  );

  it("is one line of ASCII on the same origin, whatever is in its query", () => {
    for (const text of corpus) {
      const [, value] = locationLine(`https://app.example/a?b=${text}`);
      expect(value).toMatch(visible);
      expect(new URL(value).origin).toBe("https://app.example");
    }
  });

  it("keeps an address that is in its normal form byte for byte", () => {
    const url = "https://idp.example/sso?SAMLRequest=fZ%2B%3D&RelayState=x_-y&Signature=a%2Fb#c";
    expect(locationLine(url)).toEqual(["Location", url]);
  });
});

describe("a cookie and an entity tag", () => {
  it("are refused with what their grammar lacks", () => {
    for (const text of corpus) {
      const isCookie = /^[\x21-\x7e]$/.test(text) && !/[",;\\]/.test(text);
      const cookie = () => cookiePair("session", `a${text}b`);
      if (isCookie || /^%..$/.test(text)) expect(cookie()).toBe(`session=a${text}b`);
      else expect(cookie).toThrow(HeaderError);
      if (!/^[0-9a-f]$/.test(text)) expect(() => entityTag(`a${text}b`)).toThrow(HeaderError);
    }
  });

  it("are made of what services send", () => {
    expect(cookiePair("service_session", "rt_a-b.c")).toBe("service_session=rt_a-b.c");
    expect(cookieLine("a=b; Path=/")).toEqual(["Set-Cookie", "a=b; Path=/"]);
    expect(() => cookieLine("a=b\r\nX-Evil: 1")).toThrow(HeaderError);
    expect(entityTag("0f")).toBe('"0f"');
  });
});
