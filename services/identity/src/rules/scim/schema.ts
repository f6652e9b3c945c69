export type Attribute = {
  name: string;
  type: "string" | "boolean" | "dateTime" | "reference" | "complex";
  description: string;
  multiValued?: true;
  required?: true;
  caseExact?: true;
  mutability?: "readOnly" | "immutable";
  uniqueness?: "server";
  referenceTypes?: readonly string[];
  canonicalValues?: readonly string[];
  subAttributes?: readonly Attribute[];
};

export type Schema = { id: string; name: string; description: string; attributes: readonly Attribute[] };

export const userUrn = "urn:ietf:params:scim:schemas:core:2.0:User";
export const enterpriseUrn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const groupUrn = "urn:ietf:params:scim:schemas:core:2.0:Group";

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: "string",
  description,
  ...more,
});

/** A list of values with a type, of which one may be the primary. */
const valued = (name: string, description: string, canonicalValues: readonly string[]): Attribute => ({
  name,
  type: "complex",
  multiValued: true,
  description,
  subAttributes: [
    text("value", "The value."),
    text("display", "A name for people."),
    text("type", "What the value is for.", { canonicalValues }),
    { name: "primary", type: "boolean", description: "Whether it is the preferred value." },
  ],
});

/** RFC 7643, section 4.1, as far as it is stored. */
export const userSchema: Schema = {
  id: userUrn,
  name: "User",
  description: "A user account.",
  attributes: [
    text("userName", "Name that is unique in the directory, whatever its case.", {
      required: true,
      uniqueness: "server",
    }),
    {
      name: "name",
      type: "complex",
      description: "Parts of the user's name.",
      subAttributes: [
        text("formatted", "The whole name."),
        text("familyName", "Family name."),
        text("givenName", "Given name."),
        text("middleName", "Middle names."),
        text("honorificPrefix", "Title before the name."),
        text("honorificSuffix", "Title after the name."),
      ],
    },
    text("displayName", "Name that is shown."),
    text("nickName", "Casual name."),
    text("title", "Title, such as Vice President."),
    text("userType", "Relation to the organization, such as Contractor."),
    text("preferredLanguage", "As in Accept-Language."),
    text("locale", "Locale, such as en-US."),
    text("timezone", "Time zone, such as Europe/Berlin."),
    { name: "active", type: "boolean", description: "Whether the user may sign in." },
    valued("emails", "E-mail addresses; the primary one, else that of type work, is the account's.", [
      "work",
      "home",
      "other",
    ]),
    valued("phoneNumbers", "Telephone numbers.", ["work", "home", "mobile", "fax", "pager", "other"]),
    {
      name: "addresses",
      type: "complex",
      multiValued: true,
      description: "Postal addresses.",
      subAttributes: [
        text("formatted", "The whole address."),
        text("streetAddress", "Street and number."),
        text("locality", "City."),
        text("region", "State or region."),
        text("postalCode", "Postal code."),
        text("country", "Country, ISO 3166-1 alpha-2."),
        text("type", "What the address is for.", { canonicalValues: ["work", "home", "other"] }),
        { name: "primary", type: "boolean", description: "Whether it is the preferred value." },
      ],
    },
    {
      name: "groups",
      type: "complex",
      multiValued: true,
      mutability: "readOnly",
      description: "Groups of the directory that the user is a member of; changed at the group.",
      subAttributes: [
        text("value", "Id of the group.", { mutability: "readOnly" }),
        {
          name: "$ref",
          type: "reference",
          referenceTypes: ["Group"],
          mutability: "readOnly",
          description: "Address of the group.",
        },
        text("display", "Name of the group.", { mutability: "readOnly" }),
      ],
    },
  ],
};

/** RFC 7643, section 4.3. */
export const enterpriseSchema: Schema = {
  id: enterpriseUrn,
  name: "EnterpriseUser",
  description: "Attributes of employees.",
  attributes: [
    text("employeeNumber", "Number of the employee."),
    text("costCenter", "Cost center."),
    text("organization", "Organization."),
    text("division", "Division."),
    text("department", "Department, also that of the account."),
    {
      name: "manager",
      type: "complex",
      description: "The user's manager.",
      subAttributes: [
        text("value", "Id of the manager."),
        { name: "$ref", type: "reference", referenceTypes: ["User"], description: "Address of the manager." },
        text("displayName", "Name of the manager.", { mutability: "readOnly" }),
      ],
    },
  ],
};

/** RFC 7643, section 4.2. */
export const groupSchema: Schema = {
  id: groupUrn,
  name: "Group",
  description: "A group of users; role mappings name it by its id.",
  attributes: [
    text("displayName", "Name that is unique in the directory, whatever its case.", {
      required: true,
      uniqueness: "server",
    }),
    {
      name: "members",
      type: "complex",
      multiValued: true,
      description: "Members: users of the same directory.",
      subAttributes: [
        text("value", "Id of the user.", { mutability: "immutable" }),
        {
          name: "$ref",
          type: "reference",
          referenceTypes: ["User"],
          mutability: "immutable",
          description: "Address of the user.",
        },
        text("type", "Always User.", { mutability: "immutable", canonicalValues: ["User"] }),
      ],
    },
  ],
};

/** Attributes of every resource that clients set, beside those of its schema (RFC 7643, section 3.1). */
export const externalId = text("externalId", "Id of the resource at the client.", { caseExact: true });

export type ResourceKind = "User" | "Group";

export type Resource = {
  kind: ResourceKind;
  endpoint: "/Users" | "/Groups";
  schema: Schema;
  extensions: readonly Schema[];
};

/** What is served: routes, `Schemas` and `ResourceTypes` follow from it. */
export const resources: Readonly<Record<ResourceKind, Resource>> = {
  User: { kind: "User", endpoint: "/Users", schema: userSchema, extensions: [enterpriseSchema] },
  Group: { kind: "Group", endpoint: "/Groups", schema: groupSchema, extensions: [] },
};

/** An attribute by its name, whatever its case. */
export const attributeOf = (attributes: readonly Attribute[], name: string): Attribute | undefined => {
  const wanted = name.toLowerCase();
  return attributes.find((attribute) => attribute.name.toLowerCase() === wanted);
};
