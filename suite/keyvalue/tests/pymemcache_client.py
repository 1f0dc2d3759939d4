"""Every command of pymemcache's client that the text protocol has, against the server at this port."""

import sys

import pymemcache
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheClientError

server = ("127.0.0.1", int(sys.argv[1]))


def use(client):
    assert client.set("key", b"1", noreply=False)
    assert client.get("key") == b"1"
    assert not client.add("key", b"2", noreply=False)
    assert client.replace("key", b"41", noreply=False)
    assert client.incr("key", 1) == 42
    assert client.decr("key", 50) == 0
    assert client.append("key", b"-", noreply=False)
    assert client.prepend("key", b"-", noreply=False)
    value, unique = client.gets("key")
    assert value == b"-0-", value
    assert client.cas("key", b"new", unique, noreply=False)
    assert client.cas("key", b"newer", unique, noreply=False) is False
    assert client.cas("none", b"value", unique, noreply=False) is None
    assert client.touch("key", 100, noreply=False)
    assert client.set_many({f"many-{i}": b"%d" % i for i in range(100)}, noreply=True) == []
    many = client.get_many([f"many-{i}" for i in range(200)])
    assert many == {f"many-{i}": b"%d" % i for i in range(100)}
    assert client.delete("key", noreply=False)
    assert not client.delete("key", noreply=False)
    assert client.get("key") is None


for make in (Client, PooledClient):
    use(make(server))
use(HashClient([server]))

client = Client(server)
large = bytes(range(256)) * 4096
assert client.set("large", large, noreply=False)
assert client.get("large") == large
client.set("text", b"no number", noreply=False)
try:
    client.incr("text", 1)
    sys.exit("what is no number was incremented")
except MemcacheClientError:
    pass
assert client.get("text") == b"no number", "the connection goes on after an error"
assert client.stats()[b"curr_items"] >= 100
assert b"tailwater" in client.version()
assert client.flush_all(noreply=False)
assert client.get("large") is None
client.quit()
print("pymemcache", pymemcache.__version__, "agrees")
