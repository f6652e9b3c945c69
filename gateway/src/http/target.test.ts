import { describe, expect, it } from "@jest/globals";
import { parseTarget } from "./target.ts";

describe("a request target", () => {
  it.each([
    ["/", "/", ""],
    ["/?a=1", "/", "a=1"],
    ["/a", "/a", ""],
    ["/a/", "/a", ""],
    ["/a/b?", "/a/b", ""],
    ["/a/?b=1", "/a", "b=1"],
    ["/a?b=/c//d/../e.", "/a", "b=/c//d/../e."],
    ["/a?b?c", "/a", "b?c"],
    ["/a.b/c.d.e", "/a.b/c.d.e", ""],
    ["/.well-known/x", "/.well-known/x", ""],
    ["/a./b", "/a./b", ""],
    ["/a%20b/c", "/a%20b/c", ""],
    ["/~!$&'()*+,;=:@", "/~!$&'()*+,;=:@", ""],
    ["/a?b=%5c%2e", "/a", "b=%5c%2e"],
    ["/a?!=~", "/a", "!=~"],
  ])("%s has the path %s and the query %s", (target, path, query) => {
    expect(parseTarget(target)).toEqual({ path, query, slashSegments: null });
  });

  it.each([
    ["/a%2Fb/c", [0]],
    ["/a/b%2fc", [1]],
    ["/a%2Fb/c/d%2fe/f", [0, 2]],
    ["/a/b%2Fc?d=%2F", [1]],
    ["/a%2F.b", [0]],
  ])("%s holds an encoded slash in %j", (target, slashSegments) => {
    expect(parseTarget(target)).toMatchObject({ slashSegments });
  });

  it.each([
    ["", "Request target must begin with /"],
    ["*", "Request target must begin with /"],
    ["http://host/a", "Request target must begin with /"],
    ["a/b", "Request target must begin with /"],
    ["/a b", "Request target has a character that is not allowed"],
    ["/a\u0001", "Request target has a character that is not allowed"],
    ["/a\u007f", "Request target has a character that is not allowed"],
    ["/ä", "Request target has a character that is not allowed"],
    ["/a#b", "Request target has a character that is not allowed"],
    ["/a?b c", "Request target has a character that is not allowed"],
    ["/a?b\u007f", "Request target has a character that is not allowed"],
    ["/a?b#c", "Request target has a character that is not allowed"],
    ["/a\\b", "Path must not contain a backslash"],
    ["/a%5Cb", "Path must not contain an encoded backslash"],
    ["//a", "Path must not contain //"],
    ["/a//b", "Path must not contain //"],
    ["/a//", "Path must not contain //"],
    ["/a%2F%2Fb", "Path must not contain //"],
    ["/a%2F./b", "Path must not contain //"],
    ["/.", "Path must not contain . or .. segments"],
    ["/./a", "Path must not contain . or .. segments"],
    ["/a/.?b", "Path must not contain . or .. segments"],
    ["/..", "Path must not contain . or .. segments"],
    ["/a/../b", "Path must not contain . or .. segments"],
    ["/a/...", "Path must not contain . or .. segments"],
    ["/a/..;/b", "Path must not contain . or .. segments"],
    ["/a..b", "Path must not contain . or .. segments"],
    ["/%2e/a", "Path must not contain . or .. segments"],
    ["/a/%2e%2E", "Path must not contain . or .. segments"],
    ["/a/.%2e", "Path must not contain . or .. segments"],
    ["/a%00", "Request target must not contain %00"],
    ["/a?b=%00", "Request target must not contain %00"],
    ["/a%", "Path has broken percent-encoding"],
    ["/a%zz", "Path has broken percent-encoding"],
    ["/a%ff", "Path has broken percent-encoding"],
  ])("%j is refused: %s", (target, why) => {
    expect(() => parseTarget(target)).toThrow(expect.objectContaining({ code: "bad_request", message: why }));
  });
});
