#!/usr/bin/env python3
"""Play a story with one service and several devices, each a process of its own.

Usage: story.py FOLDER   (the folder with the built products stratus and shopping)

End with "demo: ok" and status 0, or with "demo: failed: why" and status 1.
Python's standard library is all that is needed.
"""
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from story_programs import Device, Failure, Program, Service, require, until

SERIES = 50  # changes back to back

PRODUCTS = """Apples;Bananas;Oranges;Lemons;Grapes;Carrots;Broccoli;Onions;Potatoes;Tomatoes;Cucumber
Sourdough;Rye Bread;Baguette;Croissants;Chicken Breasts;Whole Chicken;Pork Sausages;Smoked Bacon
Salmon Fillets;Cod Fillets;Semi-Skimmed Milk;Oat Milk;Salted Butter;Cheddar;Mozzarella;Greek Yogurt
Double Cream;Eggs;Cooked Ham;Houmous;Frozen Peas;Frozen Chips;Ice Cream;Baked Beans
Chopped Tomatoes;Tinned Tuna;Chickpeas;Spaghetti;Penne;Basmati Rice;Soy Sauce;Tomato Ketchup
Mayonnaise;Black Pepper;Dried Oregano;Cornflakes;Porridge Oats;Strawberry Jam;Honey;Peanut Butter
Plain Flour;Caster Sugar;Digestive Biscuits;Tortilla Chips;Tea Bags;Ground Coffee;Orange Juice
Washing-Up Liquid;Toilet Rolls""".replace("\n", ";").split(";")

PARTY = """Limes;Strawberries;Celery;Mushrooms;Ciabatta;Chicken Wings;Smoked Salmon;Whole Milk;Brie
Salami;Chorizo;Frozen Berries;French Fries;Plum Tomatoes;Fusilli;Mango Chutney;Brown Sauce;Sea Salt
Dried Basil;Muesli;Marmalade;Icing Sugar;Shortbread;Popcorn;Pretzels;Green Tea;Cola;Lemonade
Tonic Water;Sparkling Water;Red Wine;White Wine;Lager;Candles;Napkins;Paper Plates;Balloons
Birthday Cake;Ice Cubes;Birthday Card""".replace("\n", ";").split(";")


class Story:
    def __init__(self, products, folder):
        self.products, self.folder = products, folder
        self.times = []  # (what, seconds)
        self.steps = 0

    def step(self, heading):
        self.steps += 1
        print(f"\n{self.steps}. {heading}", flush=True)

    def say(self, text):
        print(f"   {text}", flush=True)

    def took(self, what, seconds):
        self.times.append((what, seconds))
        self.say(f"{what}: {seconds:.2f} s")

    def change(self, what, source, command, target, sentence):
        """Does something on one device, and measures the time until the other one shows it."""
        since = len(target.lines)
        start = time.monotonic()
        source.tell(command)
        self.took(what, target.seen(sentence, since) - start)

    def both_equal(self, why):
        until(lambda: self.phone.items() == self.tablet.items(), why)

    def play(self):
        self.begin()
        self.edit()
        self.add_offline()
        self.rename_offline()
        self.kill_device()
        self.kill_service()
        self.new_device()
        self.share()
        self.show()

    def begin(self):
        self.step("Alice's phone makes a list of 60 products; her tablet shows it")
        self.service = Service(self.products, self.folder)
        self.phone = Device(self.products, self.folder, "phone", self.service)
        self.tablet = Device(self.products, self.folder, "tablet", self.service)
        for device in (self.phone, self.tablet):
            device.tell("sync")
        since = len(self.tablet.lines)
        start = time.monotonic()
        self.phone.tell("new Groceries")
        self.took("a new list", self.tablet.seen("list Groceries appeared", since) - start)
        start = time.monotonic()
        answer = self.phone.tell("paste\n" + "\n".join(PRODUCTS) + "\n")
        require(answer == ["60 items added."], f"the paste ended with {answer}")
        self.took("60 products pasted",
                  self.tablet.seen(PRODUCTS[-1] + " added", since) - start)
        self.both_equal("both show the same 60 products")
        require(sorted(self.tablet.names()) == sorted(PRODUCTS),
                f"the tablet lacks {set(PRODUCTS) - set(self.tablet.names())}, or has items twice")

    def edit(self):
        self.step("Each edit is seen on the other device")
        phone, tablet = self.phone, self.tablet
        self.change("an item added", phone, "add Dark Chocolate", tablet,
                    "Dark Chocolate added by alice on phone")
        self.change("an item ticked", tablet, "tick Bananas", phone,
                    "Bananas ticked by alice on tablet")
        self.change("an item renamed", phone, "rename Cheddar to Mature Cheddar", tablet,
                    "Cheddar renamed to Mature Cheddar by alice on phone")
        self.change("an item moved", tablet, "move Eggs after Oat Milk", phone,
                    "Eggs moved by alice on tablet")
        self.change("an item removed", phone, "remove Honey", tablet,
                    "Honey removed by alice on phone")
        self.both_equal("both show the same list after the edits")
        self.back_to_back()

    def back_to_back(self):
        """Many changes, each as soon as the one before is stored."""
        phone, tablet = self.phone, self.tablet
        since, before, starts = len(tablet.lines), phone.items(), []
        for number in range(SERIES):
            starts.append(time.monotonic())
            phone.tell(f"add Item {number}")
        seconds = sorted(tablet.seen(f"* Item {number} added by", since) - start
                         for number, start in enumerate(starts))
        self.took(f"{SERIES} changes back to back, median", statistics.median(seconds))
        self.took(f"{SERIES} changes back to back, p99", seconds[int(0.99 * SERIES)])
        for number in range(SERIES):
            phone.tell(f"remove Item {number}")
        require(phone.items() == before, "the series left something behind")
        self.both_equal("both show the same list after the series")

    def add_offline(self):
        self.step("Both offline, both add after the same item, both come back")
        phone, tablet = self.phone, self.tablet
        before = phone.names()
        for device in (phone, tablet):
            device.tell("offline")
        phone.tell("add Crème Fraîche; Sour Cream after Double Cream")
        tablet.tell("add Single Cream; Clotted Cream after Double Cream")
        require("Single Cream" not in phone.names(), "the phone was not offline")
        marks = (len(phone.lines), len(tablet.lines))
        start = time.monotonic()
        for device in (phone, tablet):
            device.tell("online")
        self.took("phone back online, seen on the tablet",
                  tablet.seen("Sour Cream added by alice on phone", marks[1]) - start)
        self.took("tablet back online, seen on the phone",
                  phone.seen("Clotted Cream added by alice on tablet", marks[0]) - start)
        self.both_equal("both show the same list after coming back")
        names = phone.names()
        added = ["Crème Fraîche", "Sour Cream", "Single Cream", "Clotted Cream"]
        require(sorted(names) == sorted(before + added), "an item was lost or doubled")
        place = names.index("Double Cream")
        run = names[place + 1:place + 5]
        require(run in (added, added[2:] + added[:2]), f"after Double Cream stands {run}")
        self.say("after Double Cream, on both: " + ", ".join(run))

    def rename_offline(self):
        self.step("Both offline, both rename the same item: the later wins on both")
        phone, tablet = self.phone, self.tablet
        for device in (phone, tablet):
            device.tell("offline")
        phone.tell("rename Sourdough to Sliced Sourdough")
        earlier = time.time()
        until(lambda: time.time() > earlier + 0.002, "the clock goes on")
        tablet.tell("rename Sourdough to Sourdough Rolls")
        # The later one arrives first: the order of arrival must not matter.
        mark = len(tablet.lines)
        tablet.tell("online")
        tablet.tell("sync")
        start = time.monotonic()
        phone.tell("online")
        self.took("the lost rename, shown on the tablet",
                  tablet.seen("renamed to Sliced Sourdough by alice on phone", mark) - start)
        self.both_equal("both show the same name")
        for device in (phone, tablet):
            names = device.names()
            require("Sourdough Rolls" in names, f"{device.name} lost the later name")
            require("Sliced Sourdough" not in names, f"{device.name} kept the earlier name")
        self.say("Sourdough Rolls on both")

    def kill_device(self):
        self.step("The phone is killed (-9) in the middle of an upload, and started again")
        self.phone.quit()
        # Small uploads, so that the device can be killed between two of them.
        self.phone = self.phone.again("--upload-size", "1")
        before = self.phone.names()
        since = len(self.tablet.lines)
        self.phone.tell("paste\n" + "\n".join(PARTY) + "\n")
        self.tablet.seen(f"{PARTY[0]} added", since)
        self.phone.kill()
        self.tablet.tell("sync")
        arrived = len(set(self.tablet.names()) & set(PARTY))
        require(0 < arrived < len(PARTY), f"{arrived} of {len(PARTY)} arrived before the kill: "
                "that is not the middle")
        self.say(f"killed after {arrived} of {len(PARTY)} items")
        start = time.monotonic()
        self.phone = self.phone.again()
        require(sorted(self.phone.names()) == sorted(before + PARTY), "the phone forgot an item")
        self.took("the rest of the upload after the restart",
                  self.tablet.seen(f"{PARTY[-1]} added", since) - start)
        self.both_equal("both show the same list after the phone's restart")
        require(sorted(self.tablet.names()) == sorted(before + PARTY),
                "an item was lost or doubled")

    def kill_service(self):
        self.step("The service is killed (-9) while both devices work, and started again")
        phone, tablet = self.phone, self.tablet
        before = phone.names()
        phone.tell("add Bin Bags")
        self.service.kill()
        phone.tell("add Sponges; Kitchen Roll")
        phone.tell("tick Tea Bags")
        tablet.tell("add Light Bulbs")
        marks = (len(phone.lines), len(tablet.lines))
        self.service = self.service.again()
        start = self.service.listening_at
        self.took("phone's work, seen on the tablet after the service's return",
                  tablet.seen("Tea Bags ticked by alice on phone", marks[1]) - start)
        self.took("tablet's work, seen on the phone after the service's return",
                  phone.seen("Light Bulbs added by alice on tablet", marks[0]) - start)
        self.both_equal("both show the same list after the service's restart")
        added = ["Bin Bags", "Sponges", "Kitchen Roll", "Light Bulbs"]
        require(sorted(phone.names()) == sorted(before + added), "an item was lost or doubled")

    def new_device(self):
        self.step("A new device fetches everything; nothing waits anywhere")
        start = time.monotonic()
        laptop = Device(self.products, self.folder, "laptop", self.service)
        until(lambda: laptop.items() == self.phone.items(), "the laptop shows the same list")
        self.took("a new device has the whole list", time.monotonic() - start)
        for device in (self.phone, self.tablet, laptop):
            device.tell("sync")
            require("Changes waiting to be sent: 0" in device.tell("status"),
                    f"changes wait on {device.name}")
        laptop.quit()

    def share(self):
        self.step("Alice shares the list with Bob; both shop; she takes him out")
        phone, folder = self.phone, self.folder
        bob = Device(self.products, folder, "bobs-phone", self.service, user="bob@example.org")
        # The service knows Bob since his first request.
        bob.tell("sync")
        phone.tell("share")
        links = [line[6:] for line in phone.tell("invite bob@example.org")
                 if line.startswith("Link: ")]
        require(links, "the invitation has no link")
        start = time.monotonic()
        answer = bob.tell(f"join {links[0]}")
        require("Groceries is open." in answer, f"Bob's joining ended with {answer}")
        until(lambda: bob.items() == phone.items(), "Bob has the whole list")
        self.took("Bob joins and has the whole list", time.monotonic() - start)
        self.change("what Bob ticks, seen by Alice", bob, "tick Apples", phone,
                    "Apples ticked by bob")
        self.change("what Alice adds, seen by Bob", phone, "add Toothpaste", bob,
                    "Toothpaste added")
        until(lambda: bob.items() == phone.items(), "Alice and Bob have the same list")
        self.change("Bob is taken out", phone, "dismiss 2", bob, "you were removed from Groceries")
        require(bob.tell("lists") == ["There is no list yet; type new and a title."],
                "Bob still has the list")
        self.both_equal("Alice's devices have the list")
        bob.quit()

    def show(self):
        left, right = self.phone.tell("show"), self.tablet.tell("show")
        require(left == right, "the two lists differ")
        width = max(len(line) for line in left) + 2
        print(f"\n{'ALICE’S PHONE':{width}} | ALICE’S TABLET")
        for pair in zip(left, right):
            print(f"{pair[0]:{width}} | {pair[1]}")
        print(f"\n{'seconds':>8}  from a change until the other device shows it")
        for what, seconds in self.times:
            print(f"{seconds:8.2f}  {what}")
        for device in (self.phone, self.tablet):
            device.quit()


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2

    def interrupted(number, _):
        raise Failure(f"interrupted by {signal.Signals(number).name}")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    folder = tempfile.mkdtemp(prefix="stratus-demo-")
    began = time.monotonic()
    try:
        Story(os.path.abspath(sys.argv[1]), folder).play()
    except (Failure, OSError, subprocess.TimeoutExpired) as failure:
        print(f"\ndemo: failed: {failure}", flush=True)
        return 1
    finally:
        for program in list(Program.running):
            program.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\nThe story took {time.monotonic() - began:.0f} s.")
    print("demo: ok", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
