"""A page in headless Chromium, opened from disk: what it draws, what it prints on its console, and what it asks of any host.

Needs chromium, chromium-driver and python3-selenium (ci/setup --with-browser); without them open_browser() ends the test as
skipped, or, where HBMSTRESS_NEEDS_BROWSER is set, as failed."""

import base64
import json
import os
import shutil
import sys
from pathlib import Path

SKIPPED = 77
CHROMIUM_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)


def skip(reason):
    print(("failed: " if os.environ.get("HBMSTRESS_NEEDS_BROWSER") else "skipped: ") + reason)
    sys.exit(1 if os.environ.get("HBMSTRESS_NEEDS_BROWSER") else SKIPPED)


class Browser:
    def __init__(self, driver):
        self.driver = driver
        self.is_dark = False
        self.width = 0

    def set_size(self, width, height):
        self.width = width
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def set_system_theme(self, name):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]}
        )

    def open(self, path):
        """The page, once its scripts have run; True only where nothing of it went wrong."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(Path(path).resolve().as_uri())
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        """Until the expression is true; what it was at last."""
        return self.run(
            f"""const look = {script};
            const end = performance.now() + {seconds * 1000};
            return new Promise((done) => {{
              (function again() {{
                const value = look();
                if (value || performance.now() > end) {{ done(value); }} else {{ setTimeout(again, 10); }}
              }})();
            }});"""
        )

    def problems(self):
        """What the console has beyond plain messages, and each request to a host."""
        found = [f"console: {entry['message']}" for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:")):
                    found.append(f"request: {url[:200]}")
        return found

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def save(self, path, height=None):
        """A picture of the window, or of the page from its top with that height."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if height is not None:
            whole = self.run("return document.documentElement.scrollHeight")
            self.set_size(self.width, min(whole, height))
        self.driver.save_screenshot(str(path))

    def save_element(self, selector, path, height=4000):
        """A picture of one element, of its upper part where it is higher."""
        path.parent.mkdir(parents=True, exist_ok=True)
        box = self.run(
            """const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return {x: box.x + scrollX - 8, y: box.y + scrollY - 8, width: box.width + 16, height: box.height + 16};""",
            selector,
        )
        clip = {**box, "height": min(box["height"], height), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.driver.quit()


def open_browser(width=1600, height=1000):
    chromium = shutil.which("chromium")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        skip("chromium or its driver is not there (ci/setup --with-browser)")
    try:
        from selenium import webdriver
    except ImportError:
        skip("python3-selenium is not there (ci/setup --with-browser)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in CHROMIUM_OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=webdriver.chrome.service.Service(chromedriver), options=options)
    driver.set_script_timeout(60)
    browser = Browser(driver)
    browser.set_size(width, height)
    return browser
