// Plain old syntax: this file must print its message on any Node that runs modules.
var floor = [20, 19];
var now = process.versions.node.split(".").map(Number);
if (now[0] < floor[0] || (now[0] === floor[0] && now[1] < floor[1])) {
  console.error(
    "Muster needs Node " +
      floor.join(".") +
      " or newer; this is Node " +
      process.versions.node +
      " (" +
      process.execPath +
      ").",
  );
  console.error("Install a current one from https://nodejs.org and run the command again.");
  process.exit(1);
}
