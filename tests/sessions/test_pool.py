"""Conversations that a process holds open: each is opened once, the oldest are let go."""

from __future__ import annotations

import threading

from foldaway.sessions.pool import Pool


def test_what_was_used_last_stays() -> None:
    """A use counts, a look does not; what is let go is made again."""
    pool = Pool[str, str](2)
    for key in "ab":
        pool.take(key, lambda key=key: f"{key}1")
    pool.take("a", lambda: "never")
    assert pool.get("b") == "b1"
    pool.take("c", lambda: "c1")
    assert list(pool.newest_first()) == [("c", "c1"), ("a", "a1")]
    assert pool.take("b", lambda: "b2") == "b2"


def test_by_weight_the_newest_always_stays() -> None:
    """Also if it is too heavy alone, and with something beside it that takes the room."""
    pool = Pool[str, int](10, lambda value: value)
    pool.take("a", lambda: 4)
    pool.take("b", lambda: 4)
    assert len(list(pool.newest_first())) == 2
    pool.take("b", lambda: 4, beside=5)
    assert list(pool.newest_first()) == [("b", 4)]
    pool.take("c", lambda: 99)
    assert list(pool.newest_first()) == [("c", 99)]


def test_only_what_is_taken_is_weighed() -> None:
    """However many are held; what grew since counts from then on, and what was let go of not."""
    sizes, weighed = dict.fromkeys(range(100), 1), list[int]()

    def weight(key: int) -> int:
        weighed.append(key)
        return sizes[key]

    pool = Pool[int, int](100, weight)
    for key in sizes:
        pool.take(key, lambda key=key: key)
    assert weighed == list(sizes)
    sizes[99] = 98
    pool.weigh(99)
    pool.take(98, lambda: 98)
    assert [key for key, _ in pool.newest_first()] == [98, 99, 97]
    assert pool.drop(99) == 99
    pool.take(0, lambda: 0)
    assert [key for key, _ in pool.newest_first()] == [0, 98, 97]
    assert weighed[100:] == [99, 98, 0]


def test_what_does_not_fit_any_more_is_made_again() -> None:
    """As after a change of the model."""
    pool = Pool[str, int](3)
    pool.take("a", lambda: 1)
    assert pool.take("a", lambda: 2, is_fit=lambda value: value == 1) == 1
    assert pool.take("a", lambda: 2, is_fit=lambda value: value > 1) == 2
    assert pool.drop("a") == 2
    assert pool.drop("a") is None


def test_threads_open_a_conversation_once() -> None:
    """All of them get the same one."""
    pool, made, start = Pool[str, object](3), list[object](), threading.Barrier(4)
    found = list[object]()

    def make() -> object:
        made.append(object())
        return made[-1]

    def work() -> None:
        start.wait()
        found.append(pool.take("a", make))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found == made * 4
