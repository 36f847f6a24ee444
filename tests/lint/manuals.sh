#!/bin/sh
# Are the manual pages clean? Warnings about the style of others' names are not ours to mend.
set -eu
mandoc -T lint -W warning deploy/man/*.[1578]
