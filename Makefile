# The two commands: `make run` and `make test`. Both install and build what they need.
SHELL := /bin/sh
export NODE_OPTIONS := --enable-source-maps
.DEFAULT_GOAL := help
.PHONY: help install build run test prove demo bench admin lint

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1 \t/p' Makefile

install: node_modules/.package-lock.json
node_modules/.package-lock.json: package.json package-lock.json
	npm ci --loglevel=error
	@touch $@

build: install ## install and compile
	@npx --no tsc

run: build ## start the whole service
	@exec node dist/src/main.js

lint: install ## formatter and linter
	npx --no biome check --error-on-warnings
