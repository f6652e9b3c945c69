import { describe, expect, it } from "@jest/globals";
import { chooseFolder, chooseRunAs, parsePasswd } from "./unprivileged.ts";

const passwd = parsePasswd(
  [
    "root:x:0:0:root:/root:/bin/bash",
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
    "postgres:x:101:104::/var/lib/postgresql:/bin/bash",
    "",
  ].join("\n"),
);

describe("the user PostgreSQL runs as", () => {
  const asRoot = { uid: 0, clusterOwner: null, passwd, canBecome: () => true };

  it("is the person's own unless that is root", () => {
    expect(chooseRunAs({ ...asRoot, uid: 1000 })).toBeNull();
  });

  it("is postgres for root, else nobody, else any other", () => {
    expect(chooseRunAs(asRoot)?.name).toBe("postgres");
    expect(chooseRunAs({ ...asRoot, passwd: passwd.filter(({ name }) => name !== "postgres") })?.name).toBe("nobody");
    expect(chooseRunAs({ ...asRoot, canBecome: ({ name }) => name === "daemon" })?.name).toBe("daemon");
  });

  it("is the owner of a cluster that exists", () => {
    expect(chooseRunAs({ ...asRoot, clusterOwner: 1 })?.name).toBe("daemon");
  });

  it("is never root, also when a cluster seems to be root's", () => {
    expect(chooseRunAs({ ...asRoot, clusterOwner: 0 })?.name).toBe("postgres");
    expect(chooseRunAs({ ...asRoot, passwd: passwd.filter(({ uid }) => uid === 0) })).toBeUndefined();
  });
});

describe("the place of PostgreSQL's data", () => {
  it("is the first that its user can enter", () => {
    expect(chooseFolder(["/home/a/.muster", "/var/lib/muster"], (dir) => dir.startsWith("/var"))).toBe(
      "/var/lib/muster",
    );
    expect(chooseFolder(["/home/a/.muster"], () => false)).toBeUndefined();
  });
});
