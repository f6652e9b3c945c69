// node seed.mjs URL KEYS: a partner with an organization and a site, made as the first administrator of `muster keys`.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [url, keys] = process.argv.slice(2);
const password = JSON.parse(readFileSync(join(keys, "keys.json"), "utf8")).adminPassword;

async function post(path, body, token) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${await response.text()}`);
  return await response.json();
}

const { accessToken } = await post("/auth/login", { email: "admin@muster.local", password });
const slug = `seed-${Date.now()}`;
const partner = await post("/orgs/partners", { name: "Seed", slug }, accessToken);
const organization = await post("/orgs/organizations", { partnerId: partner.id, name: "Seed", slug }, accessToken);
const site = await post("/orgs/sites", { orgId: organization.id, name: "Main office" }, accessToken);
console.log(`partner ${partner.id}\norganization ${organization.id}\nsite ${site.id}`);
