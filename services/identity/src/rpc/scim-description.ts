import { scimNotFound } from "../rules/scim/errors.ts";
import { type Attribute, resources, type Schema } from "../rules/scim/schema.ts";

/** Resources of one page. */
export const pageMax = 200;

const coreUrn = "urn:ietf:params:scim:schemas:core:2.0";
const listUrn = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** ServiceProviderConfig, ResourceTypes and Schemas (RFC 7644, section 4), as they follow from what is served. */
export function describeScim(kind: string, id: string, base: string): unknown {
  switch (kind) {
    case "ServiceProviderConfig":
      return serviceProviderConfig(base);
    case "ResourceTypes":
      return id === "" ? listOf(resourceTypes(base)) : oneOf(resourceTypes(base), id);
    case "Schemas":
      return id === "" ? listOf(schemas(base)) : oneOf(schemas(base), id);
    default:
      throw scimNotFound();
  }
}

const listOf = (all: readonly object[]) => ({
  schemas: [listUrn],
  totalResults: all.length,
  startIndex: 1,
  itemsPerPage: all.length,
  Resources: all,
});

function oneOf(all: readonly { id: string }[], id: string): object {
  const found = all.find((one) => one.id === id);
  if (!found) throw scimNotFound();
  return found;
}

const serviceProviderConfig = (base: string) => ({
  schemas: [`${coreUrn}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: pageMax },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "The token of the directory, in the Authorization header.",
      primary: true,
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
});

const resourceTypes = (base: string) =>
  Object.values(resources).map(({ kind, endpoint, schema, extensions }) => ({
    schemas: [`${coreUrn}:ResourceType`],
    id: kind,
    name: kind,
    description: schema.description,
    endpoint,
    schema: schema.id,
    schemaExtensions: extensions.map((extension) => ({ schema: extension.id, required: false })),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${kind}` },
  }));

const schemas = (base: string) =>
  Object.values(resources)
    .flatMap(({ schema, extensions }) => [schema, ...extensions])
    .map(({ id, name, description, attributes }: Schema) => ({
      schemas: [`${coreUrn}:Schema`],
      id,
      name,
      description,
      attributes: attributes.map(describeAttribute),
      meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
    }));

function describeAttribute(attribute: Attribute): object {
  const { name, type, description, subAttributes, canonicalValues, referenceTypes } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    ...(type === "string" || type === "reference" ? { caseExact: attribute.caseExact ?? type === "reference" } : {}),
    mutability: attribute.mutability ?? "readWrite",
    returned: "default",
    uniqueness: attribute.uniqueness ?? "none",
    ...(canonicalValues ? { canonicalValues } : {}),
    ...(referenceTypes ? { referenceTypes } : {}),
    ...(subAttributes ? { subAttributes: subAttributes.map(describeAttribute) } : {}),
  };
}
