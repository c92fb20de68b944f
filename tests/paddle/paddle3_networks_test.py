#!/usr/bin/env python3
"""Paddle 3's files in Paddle 3.3: all networks and all of Paddle's ways to save them, but for what paddle3_test.py has. `make test-paddle3` runs it."""

import collection
import paddle3_checks
import paddle3_models
import quant_models


class ExportTest(paddle3_checks.ExportChecks):
    pass


class StaticTest(paddle3_checks.StaticChecks):
    pass


class TranslationTest(paddle3_checks.TranslationChecks):
    pass


class ConversionTest(paddle3_checks.ConversionChecks):
    pass


def others(names, small):
    return [name for name in names if name not in small]


paddle3_checks.add_tests(ExportTest, "export", paddle3_models.LARGE)
paddle3_checks.add_tests(StaticTest, "static", paddle3_models.STATIC)
paddle3_checks.add_tests(TranslationTest, "translation", others(paddle3_checks.TRANSLATED, paddle3_checks.SMALL_TRANSLATED))
paddle3_checks.add_tests(ConversionTest, "conversion", others(paddle3_checks.FLOAT, paddle3_checks.SMALL_FLOAT))
paddle3_checks.add_tests(ConversionTest, "quantized", others(quant_models.MODELS, paddle3_checks.SMALL_QUANTIZED))

if __name__ == "__main__":
    collection.main()
