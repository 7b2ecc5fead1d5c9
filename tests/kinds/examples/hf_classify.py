"""A text-classification pipeline of Hugging Face, loaded once and given a list of documents at a time."""

import os

from transformers import pipeline

#: a folder made by save_pretrained: nothing is fetched
MODEL = os.environ["CLASSIFIER"]
#: the model's labels -> the categories of the pilot
CATEGORIES = {"LABEL_0": "invoice", "LABEL_1": "contract", "LABEL_2": "resume"}


class Classifier:
    def __init__(self, device):
        self.pipe = pipeline("text-classification", model=MODEL, device=device)
        limits = self.pipe.tokenizer.model_max_length, self.pipe.model.config.max_position_embeddings
        self.cut = {"truncation": True, "max_length": min(limits)}

    def __call__(self, texts):
        found = self.pipe(texts, batch_size=len(texts), **self.cut)
        return [self.answer(text, best) for text, best in zip(texts, found, strict=True)]

    def answer(self, text, best):
        if not text.strip():
            return ValueError("empty")
        category, score = CATEGORIES[best["label"]], best["score"]
        return {"category": category, "score": score, "device": str(self.pipe.device)}
