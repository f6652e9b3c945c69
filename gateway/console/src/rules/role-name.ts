const seeded: Readonly<Record<string, string>> = {
  "platform-admin": "Platform administrator",
  "partner-admin": "Partner administrator",
  "partner-technician": "Partner technician",
  "org-admin": "Organization administrator",
  "org-viewer": "Organization viewer",
};

/** The name of a user's `role`, which is the key of a seeded one; no other role has such a name. */
export const roleName = (role: string): string => seeded[role] ?? role;
