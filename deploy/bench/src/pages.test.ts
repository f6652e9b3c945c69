import { describe, expect, test } from "@jest/globals";
import { figuresBlock, problemsOf, reasonsIn, sections, summaryBlock, withBlock, wordsOf } from "./pages.ts";
import type { Run } from "./results.ts";

const run: Run = {
  time: "2026-11-25T10:00:00.000Z",
  commit: "0123456789abcdef",
  machine: "2 cores",
  load: [1.2, 3.6],
  command: "npm run bench -- read",
  figures: [
    { name: "GET /orgs/sites", value: 2_475, unit: "requests/s", atLeast: 2_500, held: false },
    { name: "p99", value: 29, unit: "ms", atMost: 30, held: true },
    { name: "lost", value: 0, unit: "", atMost: 0, held: true },
    { name: "bare node:http", value: 71_200, unit: "requests/s" },
  ],
};
const runs = [run];
const missed = "- **Missed**, `GET /orgs/sites`: both cores\n  are full.";
const pageOf = (reason: string, headings: readonly string[] = sections) =>
  ["# `read`: one page of sites", ...headings.map((each) => `## ${each}\n\n${reason}`)].join("\n\n");

describe("pages of benches", () => {
  test("show figures with a limit in a table, the others in a sentence, and the run", () => {
    const block = figuresBlock(runs);
    expect(block).toContain("| GET /orgs/sites | 2,475 requests/s | ≥ 2,500, **missed** |");
    expect(block).toContain("| p99 | 29 ms | ≤ 30 |");
    expect(block).toContain("None, as required: lost.");
    expect(block).toContain("Without a limit: bare node:http 71,200 requests/s.");
    expect(block).toContain("- `read`, 2026-11-25, 01234567, load 1.2 → 3.6, 2 cores");
  });

  test("are summed up in a row each, and the missed figures of each", () => {
    const block = summaryBlock([{ bench: "read", page: pageOf(missed), runs }]);
    expect(block).toContain(
      "| [read](performance/read.md) | one page of sites | GET /orgs/sites: 2,475 requests/s (≥ 2,500) | **2/3** | 2026-11-25 |",
    );
    expect(block).toContain("- [read](performance/read.md): GET /orgs/sites: 2,475 requests/s (≥ 2,500)");
  });

  test("give one reason for several figures", () => {
    expect([...reasonsIn("- **Missed**, `a`, `b`: why.\n").keys()]).toEqual(["a", "b"]);
  });

  test("are of the common form", () => {
    expect(problemsOf({ bench: "read", page: pageOf(missed), runs })).toEqual([]);
  });

  test.each([
    ["no results", { runs: [] }, "has no results"],
    ["no reason for a missed figure", { page: pageOf("") }, 'says no reason why "GET /orgs/sites" is missed'],
    ["a reason for a figure that is held", { page: pageOf("- **Missed**, `p99`: slow.") }, 'says that "p99" is missed'],
    ["another order of sections", { page: pageOf(missed, sections.toReversed()) }, "has not the sections Measured"],
    ["too many words", { page: pageOf(`${missed}\n${"word ".repeat(60)}`) }, "words, 350 at most"],
    ["the title of another bench", { bench: "http" }, 'does not begin with "# `http`: what it measures"'],
  ])("fail with %s", (_what, wrong, problem) => {
    const problems = problemsOf({ bench: "read", page: pageOf(missed), runs, ...wrong });
    expect(problems.join("\n")).toContain(problem);
  });

  test("do not count the words of runs", () => {
    const page = withBlock(`${pageOf(missed)}\n<!-- figures -->\n<!-- /figures -->`, "figures", figuresBlock(runs));
    const long = figuresBlock([{ ...run, machine: "word ".repeat(400) }]);
    expect(wordsOf(withBlock(page, "figures", long))).toBe(wordsOf(page));
  });

  test("keep what stands around the generated part", () => {
    const page = "before\n<!-- figures -->\nold\n<!-- /figures -->\nafter";
    expect(withBlock(page, "figures", "new")).toBe("before\n<!-- figures -->\nnew\n<!-- /figures -->\nafter");
    expect(() => withBlock("nothing", "figures", "new")).toThrow("no <!-- figures -->");
  });
});
