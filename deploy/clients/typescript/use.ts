// What a program writes with the generated types; each mistake must be one to the compiler.
import type { components, paths } from "./schema.ts";

type Query = NonNullable<paths["/api/v1/devices"]["get"]["parameters"]["query"]>;
type NewKey = paths["/api/v1/api-keys"]["post"]["requestBody"]["content"]["application/json"];

export const query: Query = { status: ["online", "offline"], os: "linux" };
// @ts-expect-error: no status
export const misspelt: Query = { status: ["onlin"] };
// @ts-expect-error: no list
export const text: Query = { status: "onlin" };
// @ts-expect-error: no system
export const system: Query = { os: "linus" };

const key = { orgId: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f", name: "Inventory" };
export const allowed: NewKey = { ...key, scopes: ["devices:read"] };
// @ts-expect-error: no scope
export const refused: NewKey = { ...key, scopes: ["devices:reed"] };

export const stateOf = (device: components["schemas"]["Device"]): "online" | "other" =>
  device.status === "online" ? "online" : "other";
