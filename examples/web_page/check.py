"""Classifies a picture on the page as a visitor does, and prints the page's rows as JSON.

python3 check.py ADDRESS PICTURE: the address names the model, the picture is chosen by hand.
"""

import json
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

# Compiling WebAssembly takes seconds of a machine that does nothing else.
PATIENCE_SECONDS = 120

address, picture = sys.argv[1:]
options = webdriver.ChromeOptions()
# With both named, Selenium looks for neither on the network.
options.binary_location = shutil.which("chromium")
driver = Service(shutil.which("chromedriver"))
for argument in ["headless=new", "no-sandbox", "disable-gpu"]:
    options.add_argument(f"--{argument}")
with webdriver.Chrome(options, driver) as browser:
    browser.get(address)
    browser.find_element(By.ID, "picture").send_keys(picture)
    shown = WebDriverWait(browser, PATIENCE_SECONDS).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#classes tr, #error:not(:empty)")
    )
    errors = [element.text for element in shown if element.tag_name == "p"]
    if errors:
        sys.exit(f"the page says: {errors[0]}")
    rows = [
        {
            "class": row.find_element(By.CSS_SELECTOR, "td:last-child").text,
            "probability": float(row.find_element(By.TAG_NAME, "meter").get_attribute("value")),
        }
        for row in shown
    ]
    print(json.dumps(rows))
