export { type TestDatabase, testDatabase, testRoleVariables } from "@muster/db/testing";
