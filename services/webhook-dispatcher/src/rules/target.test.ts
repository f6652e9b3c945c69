import { expect, it } from "@jest/globals";
import { splitUserinfo } from "./target.ts";

it.each([
  ["https://hooks.example.com/a?b=1", "https://hooks.example.com/a?b=1", null],
  ["https://hooks.example.com/a#part", "https://hooks.example.com/a", null],
  ["https://ann:pw@hooks.example.com/", "https://hooks.example.com/", "ann:pw"],
  ["https://ann@hooks.example.com/", "https://hooks.example.com/", "ann:"],
  ["https://:pw@hooks.example.com/", "https://hooks.example.com/", ":pw"],
  ["https://a%40b:p%3Aw@hooks.example.com/", "https://hooks.example.com/", "a@b:p:w"],
  ["https://ann:50%@hooks.example.com/", "https://hooks.example.com/", "ann:50%"],
])("%s is sent to %s, by Basic with %j", (text, url, userinfo) => {
  expect(splitUserinfo(text)).toEqual({ url, userinfo });
});
