"""An SMTP server for the mail tests. It prints its port, then one JSON line for each mail that it accepted.

What is read from standard input is how it behaves from then on: `accept`, or an SMTP reply that refuses each mail (`451 Later`).
"""

import base64
import json
import sys
import threading

from aiosmtpd.controller import Controller

manner = "accept"


class Handler:
    async def handle_DATA(self, server, session, envelope):
        if manner != "accept":
            return manner
        mail = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "content": base64.b64encode(envelope.content).decode(),
        }
        print(json.dumps(mail), flush=True)
        return "250 OK"


def read_manners():
    global manner
    for line in sys.stdin:
        manner = line.strip()
        print(json.dumps({"manner": manner}), flush=True)
    sys.exit()


controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1]))
controller.start()
print("ready", flush=True)
thread = threading.Thread(target=read_manners)
thread.start()
thread.join()
controller.stop()
