"""Runs scim2-tester against a directory: one line per failed check, exit status 1 when there is one."""

import os
import sys
from collections import Counter

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

headers = {"Authorization": f"Bearer {os.environ['SCIM_TOKEN']}"}
client = SyncSCIMClient(Client(base_url=os.environ["SCIM_URL"], headers=headers, timeout=30))
results = check_server(client)
counts = Counter(result.status.name for result in results)
failed = [result for result in results if result.status not in (Status.SUCCESS, Status.SKIPPED, Status.COMPLIANT, Status.ACCEPTABLE)]
for result in failed:
    print(f"{result.status.name} {result.title} ({result.resource_type}): {result.reason}")
served = {result.resource_type for result in results}
print("scim:", ", ".join(f"{count} {name.lower()}" for name, count in sorted(counts.items())))
sys.exit(1 if failed or not {"User", "Group"} <= served else 0)
