"""The smallest application: one function, which is given the text of a document."""

WORDS = {"invoice": "invoice", "amount due": "invoice", "agreement": "contract", "clause": "contract"}


def classify(text):
    for word, category in WORDS.items():
        if word in text.lower():
            return category
    raise ValueError("no word of it says what it is")
