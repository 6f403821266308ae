# Builds, installs and packs; `cargo test` is the only test command.
#
#   make                          build the library and the command
#   make install                  into PREFIX, below DESTDIR if that is set
#   make uninstall                takes away what install put there
#   make dist                     dist/ownpool-VERSION-x86_64-linux.tar.gz
#
# install does not build anew: it can be run by another user than the one who built.

PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
DATADIR = $(PREFIX)/share
MANDIR = $(DATADIR)/man
# What ownpool.pc calls the prefix; a relocatable tree says $${pcfiledir}/../..
PCPREFIX = $(PREFIX)
DESTDIR =

CARGO = cargo
INSTALL = install
CARGO_TARGET_DIR ?= target
LIBRARY = $(CARGO_TARGET_DIR)/release/libownpool.so
COMMAND = $(CARGO_TARGET_DIR)/release/ownpool

VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -n 1)
# As in build.rs: the number in the library's soname.
SOVERSION = 0
FUNCTIONS := $(shell sed -n 's/^[A-Za-z].* \**\(ownpool_[a-z0-9_]*\)(.*);$$/\1/p' include/ownpool.h)

BASH_COMPLETIONS = $(DATADIR)/bash-completion/completions
ZSH_COMPLETIONS = $(DATADIR)/zsh/site-functions
FISH_COMPLETIONS = $(DATADIR)/fish/vendor_completions.d

INSTALLED = \
	$(BINDIR)/ownpool \
	$(LIBDIR)/libownpool.so.$(VERSION) \
	$(LIBDIR)/libownpool.so.$(SOVERSION) \
	$(LIBDIR)/libownpool.so \
	$(LIBDIR)/pkgconfig/ownpool.pc \
	$(INCLUDEDIR)/ownpool.h \
	$(MANDIR)/man1/ownpool.1 \
	$(MANDIR)/man3/ownpool.3 \
	$(FUNCTIONS:%=$(MANDIR)/man3/%.3) \
	$(MANDIR)/man7/ownpool.7 \
	$(BASH_COMPLETIONS)/ownpool \
	$(ZSH_COMPLETIONS)/_ownpool \
	$(FISH_COMPLETIONS)/ownpool.fish

.PHONY: all install uninstall dist

all:
	$(CARGO) build --release -p ownpool -p ownpool-cli --lib --bins

$(LIBRARY) $(COMMAND):
	@echo '$@ is missing: run make first' >&2; exit 1

install: $(LIBRARY) $(COMMAND)
	$(INSTALL) -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	$(INSTALL) -m 755 $(COMMAND) $(DESTDIR)$(BINDIR)/ownpool
	$(INSTALL) -m 755 $(LIBRARY) $(DESTDIR)$(LIBDIR)/libownpool.so.$(VERSION)
	ln -sf libownpool.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libownpool.so.$(SOVERSION)
	ln -sf libownpool.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libownpool.so
	$(INSTALL) -m 644 include/ownpool.h $(DESTDIR)$(INCLUDEDIR)/ownpool.h
	sed -e 's|@PREFIX@|$(PCPREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' \
	    ownpool.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/ownpool.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/ownpool.pc
	$(INSTALL) -m 644 man/ownpool.1 $(DESTDIR)$(MANDIR)/man1/ownpool.1
	$(INSTALL) -m 644 man/ownpool.3 $(DESTDIR)$(MANDIR)/man3/ownpool.3
	$(INSTALL) -m 644 man/ownpool.7 $(DESTDIR)$(MANDIR)/man7/ownpool.7
	for name in $(FUNCTIONS); do \
	    echo '.so man3/ownpool.3' >$(DESTDIR)$(MANDIR)/man3/$$name.3 && \
	    chmod 644 $(DESTDIR)$(MANDIR)/man3/$$name.3 || exit 1; \
	done
	$(INSTALL) -m 644 completions/ownpool.bash $(DESTDIR)$(BASH_COMPLETIONS)/ownpool
	$(INSTALL) -m 644 completions/_ownpool $(DESTDIR)$(ZSH_COMPLETIONS)/_ownpool
	$(INSTALL) -m 644 completions/ownpool.fish $(DESTDIR)$(FISH_COMPLETIONS)/ownpool.fish

# The directories stay: others may use them.
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)%)

dist:
	CARGO='$(CARGO)' VERSION='$(VERSION)' sh scripts/dist.sh
