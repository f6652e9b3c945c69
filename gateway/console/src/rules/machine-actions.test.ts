import { describe, expect, it } from "@jest/globals";
import { filtersOfShown, rowChoices, shownRows } from "./machine-actions.ts";

describe("the rows that the audit trail shows", () => {
  it.each(Object.keys(rowChoices))("%s are the filters that they became", (choice) => {
    expect(shownRows(filtersOfShown(choice))).toBe(choice);
  });

  it("are changes alone until something else is chosen", () => {
    expect(shownRows({})).toBe("changes");
  });
});
