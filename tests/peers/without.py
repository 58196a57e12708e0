"""A proxy that leaves parameters out.

without.py UPSTREAM NAME...: forwards requests to UPSTREAM without the parameters that are
named, and prints the URL where it listens. For peers that refuse what they do not know.
"""

import sys
from urllib.parse import parse_qsl, urlencode

from aiohttp import ClientSession, web

UPSTREAM, NAMES = sys.argv[1], set(sys.argv[2:])


def without(form):
    pairs = parse_qsl(form, keep_blank_values=True)
    return urlencode([pair for pair in pairs if pair[0].split("[")[0] not in NAMES])


async def forward(request):
    body = without(await request.text())
    query = without(request.query_string)
    url = UPSTREAM + request.path + ("?" + query if query else "")
    headers = {"Authorization": request.headers.get("Authorization", "")}
    if body:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    async with ClientSession() as session:
        async with session.request(
            request.method, url, data=body or None, headers=headers
        ) as answer:
            return web.Response(
                status=answer.status,
                body=await answer.read(),
                content_type="application/json",
            )


async def started(app):
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print("http://%s:%d" % (host, port), flush=True)
    return runner


async def main():
    import asyncio

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    await started(app)
    await asyncio.Event().wait()


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
