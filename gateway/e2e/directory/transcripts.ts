/**
 * A request as a product sends it, and what it relies on in the answer. `{name}` stands for what the run makes or was
 * answered.
 */
export type Step = {
  what: string;
  send: [method: string, path: string, body?: unknown];
  expect: { status: number; body?: Record<string, unknown> };
  /** Keeps the id of the answer under this name. */
  keep?: string;
};

const user = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const group = "urn:ietf:params:scim:schemas:core:2.0:Group";
const patch = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const patchOf = (...Operations: unknown[]) => ({ schemas: [patch], Operations });

/** First cycle, update, group change and disable, after the products' public documentation. */
export const transcripts: Readonly<Record<string, readonly Step[]>> = {
  "Entra ID": [
    {
      what: "tests the connection with a name that nobody has",
      send: ["GET", '/Users?filter=userName+eq+"{random}"'],
      expect: { status: 200, body: { totalResults: 0, Resources: [] } },
    },
    {
      what: "creates a user",
      send: [
        "POST",
        "/Users",
        {
          schemas: [user, enterprise],
          externalId: "{external}",
          userName: "{name}@acme.example",
          active: true,
          displayName: "Ada Lovelace",
          emails: [{ primary: true, type: "work", value: "{name}@acme.example" }],
          meta: { resourceType: "User" },
          name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
          roles: [],
          [enterprise]: { department: "Engines", employeeNumber: "7", manager: "" },
        },
      ],
      expect: { status: 201, body: { userName: "{name}@acme.example", externalId: "{external}", active: true } },
      keep: "user",
    },
    {
      what: "finds it by the matching attribute",
      send: ["GET", '/Users?filter=externalId+eq+"{external}"'],
      expect: { status: 200, body: { totalResults: 1 } },
    },
    {
      what: "updates several attributes",
      send: [
        "PATCH",
        "/Users/{user}",
        patchOf(
          { op: "Replace", path: 'emails[type eq "work"].value', value: "{name}-2@acme.example" },
          { op: "Replace", path: "name.familyName", value: "King" },
          { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+1 555" },
          { op: "Add", path: `${enterprise}:division`, value: "Analysis" },
        ),
      ],
      expect: { status: 200, body: { phoneNumbers: [{ type: "mobile", value: "+1 555" }] } },
    },
    {
      what: "creates a group without members",
      send: [
        "POST",
        "/Groups",
        { externalId: "{external}-g", schemas: [group], displayName: "{name}", meta: { resourceType: "Group" } },
      ],
      expect: { status: 201, body: { displayName: "{name}" } },
      keep: "group",
    },
    {
      what: "adds a member",
      send: [
        "PATCH",
        "/Groups/{group}",
        patchOf({ op: "Add", path: "members", value: [{ $ref: null, value: "{user}" }] }),
      ],
      expect: { status: 204 },
    },
    {
      what: "looks for the member",
      send: ["GET", '/Groups?excludedAttributes=members&filter=id+eq+"{group}"+and+members+eq+"{user}"'],
      expect: { status: 200, body: { totalResults: 1 } },
    },
    {
      what: "removes the member",
      send: [
        "PATCH",
        "/Groups/{group}",
        patchOf({ op: "Remove", path: "members", value: [{ $ref: null, value: "{user}" }] }),
      ],
      expect: { status: 204 },
    },
    {
      what: "disables the user",
      send: ["PATCH", "/Users/{user}", patchOf({ op: "Replace", path: "active", value: "False" })],
      expect: { status: 200, body: { active: false } },
    },
    { what: "deletes the user", send: ["DELETE", "/Users/{user}"], expect: { status: 204 } },
    { what: "deletes the group", send: ["DELETE", "/Groups/{group}"], expect: { status: 204 } },
  ],
  Okta: [
    {
      what: "tests the connection",
      send: ["GET", "/Users?startIndex=1&count=2"],
      expect: { status: 200, body: { startIndex: 1 } },
    },
    {
      what: "looks for the user",
      send: ["GET", "/Users?filter=userName%20eq%20%22{name}%40acme.example%22&startIndex=1&count=100"],
      expect: { status: 200, body: { totalResults: 0 } },
    },
    {
      what: "creates it",
      send: [
        "POST",
        "/Users",
        {
          schemas: [user],
          userName: "{name}@acme.example",
          name: { givenName: "Ada", familyName: "Lovelace" },
          emails: [{ primary: true, value: "{name}@acme.example", type: "work" }],
          displayName: "Ada Lovelace",
          locale: "en-US",
          externalId: "{external}",
          groups: [],
          password: "1mz050nq",
          active: true,
        },
      ],
      expect: { status: 201, body: { locale: "en-US", active: true } },
      keep: "user",
    },
    {
      what: "replaces it",
      send: [
        "PUT",
        "/Users/{user}",
        {
          schemas: [user],
          id: "{user}",
          userName: "{name}@acme.example",
          name: { givenName: "Ada", middleName: "Augusta", familyName: "Lovelace" },
          emails: [{ primary: true, value: "{name}@acme.example", type: "work", display: "{name}@acme.example" }],
          active: true,
          groups: [],
          meta: { resourceType: "User" },
        },
      ],
      expect: { status: 200, body: { name: { givenName: "Ada", middleName: "Augusta", familyName: "Lovelace" } } },
    },
    {
      what: "pushes a group with its members",
      send: [
        "POST",
        "/Groups",
        { schemas: [group], displayName: "{name}", members: [{ value: "{user}", display: "ada" }] },
      ],
      expect: { status: 201, body: { displayName: "{name}" } },
      keep: "group",
    },
    {
      what: "renames it",
      send: ["PATCH", "/Groups/{group}", patchOf({ op: "replace", value: { id: "{group}", displayName: "{name}-2" } })],
      expect: { status: 204 },
    },
    {
      what: "changes its members",
      send: [
        "PATCH",
        "/Groups/{group}",
        patchOf(
          { op: "remove", path: 'members[value eq "{user}"]' },
          { op: "add", path: "members", value: [{ value: "{user}", display: "ada" }] },
        ),
      ],
      expect: { status: 204 },
    },
    {
      what: "deactivates the user",
      send: ["PATCH", "/Users/{user}", patchOf({ op: "replace", value: { active: false } })],
      expect: { status: 200, body: { active: false } },
    },
    {
      what: "activates it again",
      send: ["PATCH", "/Users/{user}", patchOf({ op: "replace", value: { active: true } })],
      expect: { status: 200, body: { active: true } },
    },
    { what: "removes the group", send: ["DELETE", "/Groups/{group}"], expect: { status: 204 } },
  ],
  OneLogin: [
    {
      what: "creates a user with a name alone",
      send: [
        "POST",
        "/Users",
        { schemas: [user], userName: "{name}", name: { givenName: "Ada", familyName: "L" }, active: true },
      ],
      expect: { status: 201, body: { userName: "{name}" } },
      keep: "user",
    },
    {
      what: "suspends it by PUT",
      send: ["PUT", "/Users/{user}", { schemas: [user], id: "{user}", userName: "{name}", active: false }],
      expect: { status: 200, body: { active: false } },
    },
    {
      what: "creates a group and sets its members by PUT",
      send: ["POST", "/Groups", { schemas: [group], displayName: "{name}" }],
      expect: { status: 201 },
      keep: "group",
    },
    {
      what: "replaces the members",
      send: ["PUT", "/Groups/{group}", { schemas: [group], displayName: "{name}", members: [{ value: "{user}" }] }],
      expect: { status: 200, body: { members: [{ value: "{user}", type: "User" }] } },
    },
    { what: "deletes the user", send: ["DELETE", "/Users/{user}"], expect: { status: 204 } },
  ],
};
